# Third-party libraries, all from Debian 12 but libtorch, which is the one inside PyPI's torch wheel.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(SQLite3 REQUIRED)
find_package(TBB REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GVC REQUIRED IMPORTED_TARGET libgvc)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(RLFLOW_TESTS)
  find_package(GTest REQUIRED)
endif()

# Headers alone.
find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

# The ANTLR C++ runtime (4.9) with the tool (4.7.2) that Debian ships beside it.
find_path(ANTLR4_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_LIBRARY antlr4-runtime REQUIRED)
find_program(ANTLR4_TOOL antlr4 REQUIRED)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang keeps to the letter of C++: a class with a const vector that nobody initializes has no default constructor.
  # So it gets a copy of the headers in which the three members of Vocabulary have initializers; the layout is the same.
  file(COPY ${ANTLR4_INCLUDE} DESTINATION ${CMAKE_BINARY_DIR}/antlr4)
  set(ANTLR4_INCLUDE ${CMAKE_BINARY_DIR}/antlr4/antlr4-runtime)
  file(READ ${ANTLR4_INCLUDE}/Vocabulary.h ANTLR4_VOCABULARY)
  string(REGEX REPLACE "(std::vector<std::string> const _[a-zA-Z]+Names);" "\\1{};"
         ANTLR4_VOCABULARY "${ANTLR4_VOCABULARY}")
  file(WRITE ${ANTLR4_INCLUDE}/Vocabulary.h "${ANTLR4_VOCABULARY}")
endif()
add_library(antlr4 INTERFACE IMPORTED)
target_include_directories(antlr4 SYSTEM INTERFACE ${ANTLR4_INCLUDE})
target_link_libraries(antlr4 INTERFACE ${ANTLR4_LIBRARY})

# The wheel's own CMake package insists on a CUDA toolchain, so its libraries are named here.
if(RLFLOW_RUN)
  find_library(TORCH_CPU torch_cpu PATHS ${RLFLOW_TORCH_DIR}/lib NO_DEFAULT_PATH)
  find_library(TORCH_C10 c10 PATHS ${RLFLOW_TORCH_DIR}/lib NO_DEFAULT_PATH)
  if(NOT TORCH_CPU OR NOT TORCH_C10)
    message(FATAL_ERROR "no libtorch in ${RLFLOW_TORCH_DIR}: run ./dev setup")
  endif()
  add_library(libtorch INTERFACE IMPORTED)
  target_include_directories(libtorch SYSTEM INTERFACE ${RLFLOW_TORCH_DIR}/include)
  # libtorch_cpu finds libcudart and libcupti through its own RPATH; the linker needs no answer about them.
  target_link_options(libtorch INTERFACE -Wl,--allow-shlib-undefined "-Wl,-rpath,${RLFLOW_TORCH_DIR}/lib")
  target_link_libraries(libtorch INTERFACE ${TORCH_CPU} ${TORCH_C10} Threads::Threads)
endif()
