# rlflow_library(name sources…): a static library of the project's own code, warnings as errors.
function(rlflow_options target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor
    # g++ 12 reports these two falsely for std::optional and for std::string's operator+.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>>)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  # Under the sanitizers g++ warns of what it cannot see through: warnings are errors in the other builds.
  if(NOT RLFLOW_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  else()
    target_compile_options(${target} PRIVATE -fsanitize=${RLFLOW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${RLFLOW_SANITIZE})
  endif()
endfunction()

function(rlflow_library target)
  add_library(${target} STATIC ${ARGN})
  rlflow_options(${target})
endfunction()

# rlflow_test(name SOURCES … LIBRARIES …): one gtest program, one ctest case.
function(rlflow_test target)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  rlflow_options(${target})
  target_compile_definitions(${target} PRIVATE RLFLOW_SOURCE_DIR="${CMAKE_SOURCE_DIR}" RLFLOW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${target} COMMAND ${target})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${target} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
