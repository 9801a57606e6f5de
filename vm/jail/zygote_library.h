/* SPDX-License-Identifier: Apache-2.0 */
/* The library that makes a QEMU a zygote (vm/zygote), as bytes of this program. */
#ifndef VM_ZYGOTE_LIBRARY_H
#define VM_ZYGOTE_LIBRARY_H

extern const char zygote_library[], zygote_library_end[];

#endif
