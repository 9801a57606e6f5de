/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the library that a zygote loads. The assembler includes them
 * when the program is built, so no file on the host is needed that another user
 * could change. Owns no state.
 */
#include "zygote_library.h"

__asm__(".pushsection .rodata\n"
	".globl zygote_library, zygote_library_end\n"
	"zygote_library: .incbin \"build/zygote/fsd-zygote.so\"\n"
	"zygote_library_end:\n"
	".popsection\n");
