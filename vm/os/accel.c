/* SPDX-License-Identifier: Apache-2.0 */
/* Names the accelerators, as options, templates and results have them. */
#include "accel.h"

const char *const vm_accel_names[VM_ACCEL_MAX] = {
	[VM_ACCEL_AUTO] = "auto",
	[VM_ACCEL_KVM] = "kvm",
	[VM_ACCEL_TCG] = "tcg",
};
