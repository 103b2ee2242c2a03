# What builds the kernel side: a clang that knows the bpf target, and a bpftool that can make
# skeletons. Both are tried, not asked for their version; CLANG_BPF and BPFTOOL override the search.
find_program(CLANG_BPF NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
# Ubuntu's /usr/sbin/bpftool only works for the running kernel; the ones it calls lie here.
file(GLOB kernel_tools LIST_DIRECTORIES true /usr/lib/linux-tools/*)
find_program(BPFTOOL NAMES bpftool HINTS ${kernel_tools} PATHS /usr/sbin /usr/local/sbin)
if(NOT CLANG_BPF)
    message(FATAL_ERROR "clang is needed for the BPF target (apt install clang), or set -DCLANG_BPF=")
endif()
if(NOT BPFTOOL)
    message(FATAL_ERROR "bpftool is needed (apt install bpftool), or set -DBPFTOOL=")
endif()

# Under -target bpf, clang finds no asm/types.h: the host's own folders come last, as a cure.
execute_process(COMMAND ${CLANG_BPF} -print-multiarch OUTPUT_VARIABLE bpf_multiarch
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT bpf_multiarch)
    set(bpf_multiarch ${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(BPF_COMPILE_FLAGS -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror
    -idirafter /usr/local/include -idirafter /usr/include/${bpf_multiarch} -idirafter /usr/include)

set(bpf_trial ${CMAKE_CURRENT_BINARY_DIR}/bpf_trial)
file(WRITE ${bpf_trial}.bpf.c
    "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"
    "char LICENSE[] SEC(\"license\") = \"GPL\";\n"
    "SEC(\"tp_btf/block_rq_issue\") int trial(void *ctx) { return ctx == 0; }\n")
execute_process(COMMAND ${CLANG_BPF} ${BPF_COMPILE_FLAGS} -c ${bpf_trial}.bpf.c -o ${bpf_trial}.bpf.o
    RESULT_VARIABLE failed ERROR_VARIABLE reason)
if(failed)
    message(FATAL_ERROR "${CLANG_BPF} cannot build for the BPF target; set -DCLANG_BPF=\n${reason}")
endif()
execute_process(COMMAND ${BPFTOOL} gen skeleton ${bpf_trial}.bpf.o name trial
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE reason)
if(failed)
    message(FATAL_ERROR "${BPFTOOL} cannot make skeletons; set -DBPFTOOL=\n${reason}")
endif()
