/* SPDX-License-Identifier: Apache-2.0 */
#include "zygote_library.h"

__asm__(".pushsection .rodata\n"
	".globl zygote_library, zygote_library_end\n"
	"zygote_library: .incbin \"build/zygote/fsd-zygote.so\"\n"
	"zygote_library_end:\n"
	".popsection\n");
