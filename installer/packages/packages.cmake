# SPDX-License-Identifier: GPL-3.0-or-later
# What is installed, and the .deb made of it: cpack --config build/release/CPackConfig.cmake
include(GNUInstallDirs)

# The worker and the keeper stand beside the executables that start them; plugins install themselves (plugins/CMakeLists.txt).
foreach(program tunesmith tunesmith-cli tunesmith-worker tunesmith-keeper)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY plugins/hello/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/tunesmith)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TUNESMITH_GUI)
  install(FILES installer/packages/org.tunesmith.Tunesmith.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
  install(FILES installer/packages/org.tunesmith.Tunesmith.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
  install(FILES installer/packages/tunesmith-mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages)
  install(FILES resources/icons/tunesmith.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tunesmith)
set(CPACK_PACKAGE_VENDOR "The Tunesmith authors")
set(CPACK_PACKAGE_CONTACT "The Tunesmith authors <tunesmith@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "workbench for tuning neural networks on this machine")
set(CPACK_PACKAGE_DESCRIPTION "Opens an ONNX model, tunes its kernels by measuring them on this very machine and
exports a module that any C program can load. Has a window and a command line.")
set(CPACK_PACKAGE_INSTALL_DIRECTORY tunesmith)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Libraries that are linked are found by dpkg-shlibdeps; these are loaded or started.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "lld-19, libqt6sql6-sqlite, libqt6svg6")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "qt6-wayland, fonts-dejavu-core")
include(CPack)
