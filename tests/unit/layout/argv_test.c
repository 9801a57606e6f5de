/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU's arguments, compared with golden texts, word by word. */
#include "vm/jail/argv.h"
#include "vm/jail/jail_wire.h"
#include "tests/unit/tap.h"

#define HEAD(accel, cpu)                                                     \
	BEGIN "-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny," \
	"resourcecontrol=deny " MACHINE(accel, cpu)
#define BEGIN                                                                \
	"qemu -nodefaults -no-user-config -nographic -no-reboot -nic none "
#define MACHINE(accel, cpu)                                                  \
	"-machine microvm,pit=on,pic=on,rtc=on,"        \
	"isa-serial=off,x-option-roms=off,memory-backend=ram,mem-merge=off," \
	"dump-guest-core=off -accel " accel " -cpu " cpu " "
#define DEVICES DISKS("")
#define LAYER(n, fd, set)                                                    \
	"-add-fd fd=" fd ",set=" set " -blockdev driver=file,"               \
	"node-name=layer" n ",filename=/dev/fdset/" set ",read-only=on,"     \
	"auto-read-only=off,locking=off "                                    \
	"-device virtio-blk-device,drive=layer" n ",serial=layer" n " "
#define DISKS(layers)                                                        \
	" -add-fd fd=6,set=1 -blockdev driver=file,node-name=root,"          \
	"filename=/dev/fdset/1,read-only=on,auto-read-only=off,locking=off " \
	"-device virtio-blk-device,drive=root " layers                       \
	"-device virtio-serial-device,max_ports=3 "                          \
	"-chardev socket,id=wire,fd=5 "                                      \
	"-device virtserialport,chardev=wire,name=fsd.wire "                 \
	"-chardev socket,id=net,fd=4 "                                       \
	"-device virtserialport,chardev=net,name=fsd.net "                   \
	"-chardev socket,id=qmp,fd=3 -mon chardev=qmp,mode=control "

#define ENVIRONMENT_BOOT                                                     \
	HEAD("kvm", "host,vmx=off,svm=off,pmu=off") "-smp 2 -m 8192M "       \
	"-object memory-backend-file,id=ram,size=8192M,"                     \
	"mem-path=/ram,share=on"                                             \
	DISKS(LAYER("0", "10", "2") LAYER("1", "11", "3"))                    \
	"-kernel /kernel -initrd /initrd -append quiet loglevel=0 "          \
	"reboot=t panic=-1 cpuidle.off=1 tsc=reliable nowatchdog "           \
	"fsd_layers=2"

static void check(const struct argv_spec *spec, const char *want,
		  const char *name)
{
	struct buf b = { 0 };
	struct argv a;

	is_int(argv_make(spec, &a), 0, "%s: it fits", name);
	ok(a.item[a.count] == NULL, "%s: it ends with NULL", name);
	argv_join(&a, &b);
	is_str(b.data, want, "%s: it is the golden one", name);
	buf_done(&b);
}

int main(void)
{
	struct argv_spec s = {
		.qemu = (const char *const[]){ "qemu", NULL }, .accel = VM_ACCEL_TCG,
		.kernel = "/kernel", .initrd = "/initrd",
		.cls = { .memory_mib = 1024, .cpus = 1 },
	};
	struct argv most;

	check(&s,
	      HEAD("tcg,tb-size=64", "max,-erms,-fsrm") "-smp 1 -m 4480M "
	      "-object memory-backend-file,id=ram,size=4480M,"
	      "mem-path=/ram,share=off,reserve=off" DEVICES
	      "-incoming defer", "a machine");
	s.zygote = true;
	check(&s,
	      BEGIN "-sandbox on,obsolete=deny,resourcecontrol=deny "
	      MACHINE("tcg,tb-size=256", "max,-erms,-fsrm") "-smp 1 -m 4480M "
	      "-object memory-backend-file,id=ram,size=4480M,"
	      "mem-path=/ram,share=off,reserve=off" DEVICES
	      "-incoming defer", "a zygote");
	s.zygote = false;
	s.boot = true;
	s.tsc_khz = 2596138;
	check(&s,
	      HEAD("tcg,tb-size=256", "max,-erms,-fsrm") "-smp 1 -m 4480M "
	      "-object memory-backend-file,id=ram,size=4480M,"
	      "mem-path=/ram,share=on" DEVICES
	      "-kernel /kernel -initrd /initrd -append quiet loglevel=0 "
	      "reboot=t panic=-1 cpuidle.off=1 tsc=reliable nowatchdog "
	      "mitigations=off tsc_early_khz=2596138", "a boot");
	s.accel = VM_ACCEL_KVM;
	s.cls = (struct vm_class){ .memory_mib = 8192, .cpus = 2 };
	check(&s,
	      HEAD("kvm", "host,vmx=off,svm=off,pmu=off") "-smp 2 -m 8192M "
	      "-object memory-backend-file,id=ram,size=8192M,"
	      "mem-path=/ram,share=on" DEVICES
	      "-kernel /kernel -initrd /initrd -append quiet loglevel=0 "
	      "reboot=t panic=-1 cpuidle.off=1 tsc=reliable nowatchdog",
	      "a KVM boot");
	s.layers = 2;
	check(&s,
	      ENVIRONMENT_BOOT, "a boot of an environment");
	s.plain = true;
	check(&s,
	      ENVIRONMENT_BOOT " fsd_plain=1", "a boot without interpreters that wait");
	s = (struct argv_spec){
		.qemu = (const char *const[]){ "qemu", NULL }, .accel = VM_ACCEL_TCG,
		.cls = { .memory_mib = 1024, .cpus = 1 }, .layers = 1,
	};
	check(&s,
	      HEAD("tcg,tb-size=64", "max,-erms,-fsrm") "-smp 1 -m 4480M "
	      "-object memory-backend-file,id=ram,size=4480M,"
	      "mem-path=/ram,share=off,reserve=off"
	      DISKS(LAYER("0", "10", "2"))
	      "-incoming defer", "a machine of an environment");
	s.layers = JAIL_LAYERS_MAX;
	is_int(argv_make(&s, &most), 0, "as many layers as may be fit");
	return done_testing();
}
