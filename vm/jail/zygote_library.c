/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the library that a zygote loads, taken into the program by the assembler
 * when it is built. They need no file on the host that somebody else could change.
 */
#include "zygote_library.h"

__asm__(".pushsection .rodata\n"
	".globl zygote_library, zygote_library_end\n"
	"zygote_library: .incbin \"build/zygote/fsd-zygote.so\"\n"
	"zygote_library_end:\n"
	".popsection\n");
