/* SPDX-License-Identifier: Apache-2.0 */
/* How QEMU runs a guest's instructions. */
#ifndef VM_ACCEL_H
#define VM_ACCEL_H

enum vm_accel { VM_ACCEL_AUTO, VM_ACCEL_KVM, VM_ACCEL_TCG, VM_ACCEL_MAX };

extern const char *const vm_accel_names[VM_ACCEL_MAX]; /* "auto" ... */

#endif
