/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of the library that QEMU loads to become a zygote (vm/zygote). They
 * are part of this program.
 */
#ifndef VM_ZYGOTE_LIBRARY_H
#define VM_ZYGOTE_LIBRARY_H

extern const char zygote_library[], zygote_library_end[];

#endif
