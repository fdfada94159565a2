# The reference kernels for exported modules, as one relocatable object: the rooms up to ops with the C++ library, and with nothing
# that reference_steps.cpp does not reach. It wants of a system what a C program does.
set(reference_flags -g0 -fno-sanitize=all -fno-lto -fvisibility=hidden) # these targets do not see tunesmith_options
set(reference_libraries)
foreach(room ops te loops graph base)
  set(library ts_${room})
  if(TUNESMITH_SANITIZE) # once more, without
    set(library reference_${room})
    get_target_property(sources ts_${room} SOURCES)
    get_target_property(folder ts_${room} SOURCE_DIR)
    list(FILTER sources INCLUDE REGEX "[.]cpp$")
    list(TRANSFORM sources PREPEND ${folder}/)
    add_library(${library} STATIC ${sources})
    tunesmith_unite(${library})
    target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(${library} PRIVATE ${reference_flags})
  endif()
  list(APPEND reference_libraries $<TARGET_FILE:${library}>)
endforeach()
add_library(tunesmith_reference_code OBJECT reference_steps.cpp reference_steps.h cxx_library.c)
target_include_directories(tunesmith_reference_code PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(tunesmith_reference_code PRIVATE ${reference_flags} -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<BOOL:${TUNESMITH_WERROR}>:-Werror>)

set(cxx_libraries)
foreach(library libstdc++.a libgcc_eh.a libgcc.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${path}")
    message(FATAL_ERROR "${library}, which exported modules hold, was not found: install the development files of the C++ compiler")
  endif()
  list(APPEND cxx_libraries ${path})
endforeach()
find_program(BINUTILS_LD NAMES ld.bfd ld REQUIRED)
set(TUNESMITH_REFERENCE_OBJECT ${CMAKE_CURRENT_BINARY_DIR}/reference.o)
add_custom_command(OUTPUT ${TUNESMITH_REFERENCE_OBJECT}
  COMMAND ${BINUTILS_LD} -r -S -x --gc-sections -e ts_reference_kernels -u ts_reference_kernels -u __dso_handle -o ${TUNESMITH_REFERENCE_OBJECT}
    $<TARGET_OBJECTS:tunesmith_reference_code> --start-group ${reference_libraries} ${cxx_libraries} --end-group
  DEPENDS tunesmith_reference_code $<TARGET_OBJECTS:tunesmith_reference_code> ${reference_libraries} COMMAND_EXPAND_LISTS VERBATIM)
