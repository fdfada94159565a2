# SPDX-License-Identifier: GPL-3.0-or-later
# cmake -P embed.cmake OUTPUT FUNCTION FILE...: writes a C++ file that defines `std::vector<EmbeddedFile> FUNCTION()`.
set(OUTPUT ${CMAKE_ARGV3})
set(FUNCTION ${CMAKE_ARGV4})
math(EXPR last "${CMAKE_ARGC} - 1")
set(arrays "")
set(entries "")
foreach(i RANGE 5 ${last})
  file(READ "${CMAKE_ARGV${i}}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  get_filename_component(name "${CMAKE_ARGV${i}}" NAME)
  string(APPEND arrays "const unsigned char data${i}[] = {${bytes}};\n")
  string(APPEND entries "{\"${name}\", data${i}}, ")
endforeach()
file(WRITE "${OUTPUT}" "#include \"core/runtime/embedded.h\"
namespace tunesmith {
namespace {
${arrays}} // namespace
std::vector<EmbeddedFile> ${FUNCTION}() { return {${entries}}; }
} // namespace tunesmith
")
