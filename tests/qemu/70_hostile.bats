#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile programs on real machines, and ordinary ones that must not suffer.
# Made by tests/hostile/table.py, which has the table: change it there, then
#   tests/hostile/table.py bats >tests/qemu/70_hostile.bats

HOSTILE=$BATS_TEST_DIRNAME/../hostile

# All jobs run once, before the first test; what they told is in GOT.
setup_file() {
	load ../lib/qemu
	[ -x "$TESTS/../build/hostile/raw" ] || fail 'run: make build/hostile/raw'
	file_setup
	export GOT=$BATS_FILE_TMPDIR/got
	bounded 600 "$HOSTILE/submit.py" "$MNT" "$GOT"
}

teardown_file() {
	load ../lib/qemu
	file_teardown
}

# row GROUP NAME OUTCOME — this and nothing else came of it.
row() {
	grep -qxF -- "$2"$'\t'"$3" "$GOT/$1" && return
	echo "wanted: $3" >&2
	grep -F -- "$2"$'\t' "$GOT/$1" >&2 || cat "$GOT/$1.failed" >&2
	return 1
}

@test "the table and these tests are the same" {
	diff <("$HOSTILE/table.py" bats) "$BATS_TEST_FILENAME"
}

@test "calls: loads a program into the kernel (bpf)" { row calls "bpf" "EPERM"; }
@test "calls: makes a map of bpf (bpf_map)" { row calls "bpf_map" "EPERM"; }
@test "calls: makes an io_uring (io_uring_setup)" { row calls "io_uring_setup" "ENOSYS"; }
@test "calls: enters an io_uring (io_uring_enter)" { row calls "io_uring_enter" "ENOSYS"; }
@test "calls: registers with an io_uring (io_uring_register)" { row calls "io_uring_register" "ENOSYS"; }
@test "calls: holds the kernel up in page faults (userfaultfd)" { row calls "userfaultfd" "ENOSYS"; }
@test "calls: does so in user mode only (userfaultfd_user)" { row calls "userfaultfd_user" "ENOSYS"; }
@test "calls: counts the kernel's events (perf_event_open)" { row calls "perf_event_open" "EPERM"; }
@test "calls: asks for a profiler's path (lookup_dcookie)" { row calls "lookup_dcookie" "EPERM"; }
@test "calls: loads a module (init_module)" { row calls "init_module" "EPERM"; }
@test "calls: loads a module from a file (finit_module)" { row calls "finit_module" "EPERM"; }
@test "calls: unloads a module (delete_module)" { row calls "delete_module" "EPERM"; }
@test "calls: boots another kernel (kexec_load)" { row calls "kexec_load" "EPERM"; }
@test "calls: boots another kernel from a file (kexec_file_load)" { row calls "kexec_file_load" "EPERM"; }
@test "calls: adds a key (add_key)" { row calls "add_key" "ENOSYS"; }
@test "calls: requests a key (request_key)" { row calls "request_key" "ENOSYS"; }
@test "calls: joins a session's keyring (keyctl)" { row calls "keyctl" "ENOSYS"; }
@test "calls: mounts a tmpfs (mount)" { row calls "mount" "EPERM"; }
@test "calls: binds /etc over /tmp (mount_bind)" { row calls "mount_bind" "EPERM"; }
@test "calls: mounts a second /proc (mount_proc)" { row calls "mount_proc" "EPERM"; }
@test "calls: mounts the control groups (mount_cgroup)" { row calls "mount_cgroup" "EPERM"; }
@test "calls: makes / writable (remount_root)" { row calls "remount_root" "EPERM"; }
@test "calls: makes /proc/sys writable (remount_proc_sys)" { row calls "remount_proc_sys" "EPERM"; }
@test "calls: takes a cover off /proc/kcore (umount2)" { row calls "umount2" "EPERM"; }
@test "calls: takes its home off (umount2_home)" { row calls "umount2_home" "EPERM"; }
@test "calls: changes the root (pivot_root)" { row calls "pivot_root" "EPERM"; }
@test "calls: changes its own root (chroot)" { row calls "chroot" "EPERM"; }
@test "calls: copies a tree of mounts (open_tree)" { row calls "open_tree" "EPERM"; }
@test "calls: moves a mount (move_mount)" { row calls "move_mount" "EPERM"; }
@test "calls: opens a file system's settings (fsopen)" { row calls "fsopen" "EPERM"; }
@test "calls: sets a file system's setting (fsconfig)" { row calls "fsconfig" "EPERM"; }
@test "calls: makes a mount (fsmount)" { row calls "fsmount" "EPERM"; }
@test "calls: picks a mount (fspick)" { row calls "fspick" "EPERM"; }
@test "calls: changes a mount's flags (mount_setattr)" { row calls "mount_setattr" "EPERM"; }
@test "calls: opens a file by its number (open_by_handle_at)" { row calls "open_by_handle_at" "EPERM"; }
@test "calls: learns a file's number (name_to_handle_at)" { row calls "name_to_handle_at" "EPERM"; }
@test "calls: watches the whole file system (fanotify_init)" { row calls "fanotify_init" "EPERM"; }
@test "calls: marks a mount to be watched (fanotify_mark)" { row calls "fanotify_mark" "EPERM"; }
@test "calls: changes a quota (quotactl)" { row calls "quotactl" "EPERM"; }
@test "calls: changes a quota by descriptor (quotactl_fd)" { row calls "quotactl_fd" "EPERM"; }
@test "calls: swaps to a file (swapon)" { row calls "swapon" "EPERM"; }
@test "calls: ends swapping (swapoff)" { row calls "swapoff" "EPERM"; }
@test "calls: enters PID 1's namespace (setns)" { row calls "setns" "EPERM"; }
@test "calls: makes a user namespace by clone3 (clone3)" { row calls "clone3" "ENOSYS"; }
@test "calls: reboots the machine (reboot)" { row calls "reboot" "EPERM"; }
@test "calls: takes all ports (iopl)" { row calls "iopl" "EPERM"; }
@test "calls: takes a port (ioperm)" { row calls "ioperm" "EPERM"; }
@test "calls: makes a 16-bit segment (modify_ldt)" { row calls "modify_ldt" "ENOSYS"; }
@test "calls: reads the kernel's words (syslog)" { row calls "syslog" "EPERM"; }
@test "calls: has the kernel write a file (acct)" { row calls "acct" "EPERM"; }
@test "calls: hangs the terminal up (vhangup)" { row calls "vhangup" "EPERM"; }
@test "calls: renames the machine (sethostname)" { row calls "sethostname" "EPERM"; }
@test "calls: renames its domain (setdomainname)" { row calls "setdomainname" "EPERM"; }
@test "calls: sets the clock (settimeofday)" { row calls "settimeofday" "EPERM"; }
@test "calls: sets the clock another way (clock_settime)" { row calls "clock_settime" "EPERM"; }
@test "calls: slews the clock (clock_adjtime)" { row calls "clock_adjtime" "EPERM"; }
@test "calls: slews the clock another way (adjtimex)" { row calls "adjtimex" "EPERM"; }
@test "calls: is cloned with CLONE_NEWNS (clone_NEWNS)" { row calls "clone_NEWNS" "EPERM"; }
@test "calls: is cloned with CLONE_NEWCGROUP (clone_NEWCGROUP)" { row calls "clone_NEWCGROUP" "EPERM"; }
@test "calls: is cloned with CLONE_NEWUTS (clone_NEWUTS)" { row calls "clone_NEWUTS" "EPERM"; }
@test "calls: is cloned with CLONE_NEWIPC (clone_NEWIPC)" { row calls "clone_NEWIPC" "EPERM"; }
@test "calls: is cloned with CLONE_NEWUSER (clone_NEWUSER)" { row calls "clone_NEWUSER" "EPERM"; }
@test "calls: is cloned with CLONE_NEWPID (clone_NEWPID)" { row calls "clone_NEWPID" "EPERM"; }
@test "calls: is cloned with CLONE_NEWNET (clone_NEWNET)" { row calls "clone_NEWNET" "EPERM"; }
@test "calls: unshares with CLONE_NEWNS (unshare_NEWNS)" { row calls "unshare_NEWNS" "EPERM"; }
@test "calls: unshares with CLONE_NEWCGROUP (unshare_NEWCGROUP)" { row calls "unshare_NEWCGROUP" "EPERM"; }
@test "calls: unshares with CLONE_NEWUTS (unshare_NEWUTS)" { row calls "unshare_NEWUTS" "EPERM"; }
@test "calls: unshares with CLONE_NEWIPC (unshare_NEWIPC)" { row calls "unshare_NEWIPC" "EPERM"; }
@test "calls: unshares with CLONE_NEWUSER (unshare_NEWUSER)" { row calls "unshare_NEWUSER" "EPERM"; }
@test "calls: unshares with CLONE_NEWPID (unshare_NEWPID)" { row calls "unshare_NEWPID" "EPERM"; }
@test "calls: unshares with CLONE_NEWNET (unshare_NEWNET)" { row calls "unshare_NEWNET" "EPERM"; }
@test "calls: unshares with CLONE_NEWTIME (unshare_NEWTIME)" { row calls "unshare_NEWTIME" "EPERM"; }
@test "calls: hides CLONE_NEWUSER among harmless flags (unshare_mixed)" { row calls "unshare_mixed" "EPERM"; }
@test "calls: types on its own terminal (tiocsti)" { row calls "tiocsti" "EPERM"; }
@test "calls: does so past the int (tiocsti_high)" { row calls "tiocsti_high" "EPERM"; }
@test "calls: pastes on a console (tioclinux)" { row calls "tioclinux" "EPERM"; }
@test "calls: makes a socket of AF_AX25 (socket_AX25)" { row calls "socket_AX25" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_IPX (socket_IPX)" { row calls "socket_IPX" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_APPLETALK (socket_APPLETALK)" { row calls "socket_APPLETALK" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_NETROM (socket_NETROM)" { row calls "socket_NETROM" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_X25 (socket_X25)" { row calls "socket_X25" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_KEY (socket_KEY)" { row calls "socket_KEY" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_PACKET (socket_PACKET)" { row calls "socket_PACKET" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_RDS (socket_RDS)" { row calls "socket_RDS" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_LLC (socket_LLC)" { row calls "socket_LLC" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_CAN (socket_CAN)" { row calls "socket_CAN" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_TIPC (socket_TIPC)" { row calls "socket_TIPC" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_BLUETOOTH (socket_BLUETOOTH)" { row calls "socket_BLUETOOTH" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_RXRPC (socket_RXRPC)" { row calls "socket_RXRPC" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_PHONET (socket_PHONET)" { row calls "socket_PHONET" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_IEEE802154 (socket_IEEE802154)" { row calls "socket_IEEE802154" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_CAIF (socket_CAIF)" { row calls "socket_CAIF" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_ALG (socket_ALG)" { row calls "socket_ALG" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_NFC (socket_NFC)" { row calls "socket_NFC" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_VSOCK (socket_VSOCK)" { row calls "socket_VSOCK" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_KCM (socket_KCM)" { row calls "socket_KCM" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_QIPCRTR (socket_QIPCRTR)" { row calls "socket_QIPCRTR" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_SMC (socket_SMC)" { row calls "socket_SMC" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_XDP (socket_XDP)" { row calls "socket_XDP" "EAFNOSUPPORT"; }
@test "calls: makes a socket of AF_MCTP (socket_MCTP)" { row calls "socket_MCTP" "EAFNOSUPPORT"; }
@test "calls: makes a packet socket past the int (socket_high)" { row calls "socket_high" "EAFNOSUPPORT"; }
@test "calls: makes a pair of AF_VSOCK (socketpair_VSOCK)" { row calls "socketpair_VSOCK" "EAFNOSUPPORT"; }
@test "calls: talks NETLINK_SOCK_DIAG to the kernel (netlink_SOCK_DIAG)" { row calls "netlink_SOCK_DIAG" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_XFRM to the kernel (netlink_XFRM)" { row calls "netlink_XFRM" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_AUDIT to the kernel (netlink_AUDIT)" { row calls "netlink_AUDIT" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_NETFILTER to the kernel (netlink_NETFILTER)" { row calls "netlink_NETFILTER" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_KOBJECT_UEVENT to the kernel (netlink_KOBJECT_UEVENT)" { row calls "netlink_KOBJECT_UEVENT" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_GENERIC to the kernel (netlink_GENERIC)" { row calls "netlink_GENERIC" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_CRYPTO to the kernel (netlink_CRYPTO)" { row calls "netlink_CRYPTO" "EPROTONOSUPPORT"; }
@test "calls: talks NETLINK_NETFILTER past the int (netlink_high)" { row calls "netlink_high" "EPROTONOSUPPORT"; }
@test "calls: makes a socket of multipath TCP (mptcp)" { row calls "mptcp" "ENOPROTOOPT"; }
@test "paths: finds kernel.modules_disabled at another value (setting kernel/modules_disabled)" { row paths "setting kernel/modules_disabled" "1"; }
@test "paths: finds kernel.dmesg_restrict at another value (setting kernel/dmesg_restrict)" { row paths "setting kernel/dmesg_restrict" "1"; }
@test "paths: finds kernel.kptr_restrict at another value (setting kernel/kptr_restrict)" { row paths "setting kernel/kptr_restrict" "2"; }
@test "paths: finds kernel.randomize_va_space at another value (setting kernel/randomize_va_space)" { row paths "setting kernel/randomize_va_space" "2"; }
@test "paths: finds kernel.perf_event_paranoid at another value (setting kernel/perf_event_paranoid)" { row paths "setting kernel/perf_event_paranoid" "3"; }
@test "paths: finds kernel.panic_on_oops at another value (setting kernel/panic_on_oops)" { row paths "setting kernel/panic_on_oops" "1"; }
@test "paths: finds kernel.unprivileged_bpf_disabled at another value (setting kernel/unprivileged_bpf_disabled)" { row paths "setting kernel/unprivileged_bpf_disabled" "1"; }
@test "paths: finds kernel.sysrq at another value (setting kernel/sysrq)" { row paths "setting kernel/sysrq" "0"; }
@test "paths: finds kernel.unprivileged_userns_clone at another value (setting kernel/unprivileged_userns_clone)" { row paths "setting kernel/unprivileged_userns_clone" "0"; }
@test "paths: finds kernel.modprobe at another value (setting kernel/modprobe)" { row paths "setting kernel/modprobe" ""; }
@test "paths: finds kernel.kexec_load_disabled at another value (setting kernel/kexec_load_disabled)" { row paths "setting kernel/kexec_load_disabled" "1"; }
@test "paths: finds kernel.yama.ptrace_scope at another value (setting kernel/yama/ptrace_scope)" { row paths "setting kernel/yama/ptrace_scope" "1"; }
@test "paths: finds user.max_user_namespaces at another value (setting user/max_user_namespaces)" { row paths "setting user/max_user_namespaces" "0"; }
@test "paths: finds vm.mmap_min_addr at another value (setting vm/mmap_min_addr)" { row paths "setting vm/mmap_min_addr" "65536"; }
@test "paths: finds vm.unprivileged_userfaultfd at another value (setting vm/unprivileged_userfaultfd)" { row paths "setting vm/unprivileged_userfaultfd" "0"; }
@test "paths: finds fs.suid_dumpable at another value (setting fs/suid_dumpable)" { row paths "setting fs/suid_dumpable" "0"; }
@test "paths: finds net.mptcp.enabled at another value (setting net/mptcp/enabled)" { row paths "setting net/mptcp/enabled" "0"; }
@test "paths: finds dev.tty.ldisc_autoload at another value (setting dev/tty/ldisc_autoload)" { row paths "setting dev/tty/ldisc_autoload" "0"; }
@test "paths: opens /dev/mem (read /dev/mem)" { row paths "read /dev/mem" "ENOENT"; }
@test "paths: opens /dev/kmem (read /dev/kmem)" { row paths "read /dev/kmem" "ENOENT"; }
@test "paths: opens /dev/port (read /dev/port)" { row paths "read /dev/port" "ENOENT"; }
@test "paths: opens /dev/vda (read /dev/vda)" { row paths "read /dev/vda" "ENOENT"; }
@test "paths: opens /dev/vport0p1 (read /dev/vport0p1)" { row paths "read /dev/vport0p1" "ENOENT"; }
@test "paths: opens /dev/vport1p1 (read /dev/vport1p1)" { row paths "read /dev/vport1p1" "ENOENT"; }
@test "paths: opens /dev/virtio-ports (read /dev/virtio-ports)" { row paths "read /dev/virtio-ports" "ENOENT"; }
@test "paths: opens /dev/hvc0 (read /dev/hvc0)" { row paths "read /dev/hvc0" "ENOENT"; }
@test "paths: opens /dev/console (read /dev/console)" { row paths "read /dev/console" "ENOENT"; }
@test "paths: opens /dev/tty0 (read /dev/tty0)" { row paths "read /dev/tty0" "ENOENT"; }
@test "paths: opens /dev/ttyS0 (read /dev/ttyS0)" { row paths "read /dev/ttyS0" "ENOENT"; }
@test "paths: opens /dev/kvm (read /dev/kvm)" { row paths "read /dev/kvm" "ENOENT"; }
@test "paths: opens /dev/fuse (read /dev/fuse)" { row paths "read /dev/fuse" "ENOENT"; }
@test "paths: opens /dev/loop-control (read /dev/loop-control)" { row paths "read /dev/loop-control" "ENOENT"; }
@test "paths: opens /dev/loop0 (read /dev/loop0)" { row paths "read /dev/loop0" "ENOENT"; }
@test "paths: opens /dev/userfaultfd (read /dev/userfaultfd)" { row paths "read /dev/userfaultfd" "ENOENT"; }
@test "paths: opens /dev/vhost-vsock (read /dev/vhost-vsock)" { row paths "read /dev/vhost-vsock" "ENOENT"; }
@test "paths: opens /dev/net/tun (read /dev/net/tun)" { row paths "read /dev/net/tun" "ENOENT"; }
@test "paths: opens /dev/snapshot (read /dev/snapshot)" { row paths "read /dev/snapshot" "ENOENT"; }
@test "paths: opens /dev/cpu/0/msr (read /dev/cpu/0/msr)" { row paths "read /dev/cpu/0/msr" "ENOENT"; }
@test "paths: opens /dev/bpf (read /dev/bpf)" { row paths "read /dev/bpf" "ENOENT"; }
@test "paths: opens /dev/uinput (read /dev/uinput)" { row paths "read /dev/uinput" "ENOENT"; }
@test "paths: reads /proc/kcore (read /proc/kcore)" { row paths "read /proc/kcore" "empty"; }
@test "paths: reads /proc/kmsg (read /proc/kmsg)" { row paths "read /proc/kmsg" "empty"; }
@test "paths: reads /proc/kallsyms (read /proc/kallsyms)" { row paths "read /proc/kallsyms" "empty"; }
@test "paths: reads /proc/keys (read /proc/keys)" { row paths "read /proc/keys" "empty"; }
@test "paths: reads /proc/key-users (read /proc/key-users)" { row paths "read /proc/key-users" "empty"; }
@test "paths: reads /proc/timer_list (read /proc/timer_list)" { row paths "read /proc/timer_list" "empty"; }
@test "paths: reads /proc/interrupts (read /proc/interrupts)" { row paths "read /proc/interrupts" "empty"; }
@test "paths: reads /proc/iomem (read /proc/iomem)" { row paths "read /proc/iomem" "empty"; }
@test "paths: reads /proc/ioports (read /proc/ioports)" { row paths "read /proc/ioports" "empty"; }
@test "paths: reads /proc/slabinfo (read /proc/slabinfo)" { row paths "read /proc/slabinfo" "empty"; }
@test "paths: reads /proc/vmallocinfo (read /proc/vmallocinfo)" { row paths "read /proc/vmallocinfo" "empty"; }
@test "paths: reads /proc/pagetypeinfo (read /proc/pagetypeinfo)" { row paths "read /proc/pagetypeinfo" "empty"; }
@test "paths: reads /proc/kpagecount (read /proc/kpagecount)" { row paths "read /proc/kpagecount" "empty"; }
@test "paths: reads /proc/kpageflags (read /proc/kpageflags)" { row paths "read /proc/kpageflags" "empty"; }
@test "paths: reads /sys/kernel/notes (read /sys/kernel/notes)" { row paths "read /sys/kernel/notes" "empty"; }
@test "paths: reads /sys/kernel/vmcoreinfo (read /sys/kernel/vmcoreinfo)" { row paths "read /sys/kernel/vmcoreinfo" "empty"; }
@test "paths: lists /sys/firmware (list /sys/firmware)" { row paths "list /sys/firmware" "empty"; }
@test "paths: lists /sys/kernel/debug (list /sys/kernel/debug)" { row paths "list /sys/kernel/debug" "empty"; }
@test "paths: lists /sys/kernel/tracing (list /sys/kernel/tracing)" { row paths "list /sys/kernel/tracing" "empty"; }
@test "paths: lists /sys/kernel/security (list /sys/kernel/security)" { row paths "list /sys/kernel/security" "empty"; }
@test "paths: lists /sys/kernel/btf (list /sys/kernel/btf)" { row paths "list /sys/kernel/btf" "empty"; }
@test "paths: lists /sys/kernel/slab (list /sys/kernel/slab)" { row paths "list /sys/kernel/slab" "empty"; }
@test "paths: lists /sys/fs/bpf (list /sys/fs/bpf)" { row paths "list /sys/fs/bpf" "empty"; }
@test "paths: lists /sys/fs/pstore (list /sys/fs/pstore)" { row paths "list /sys/fs/pstore" "empty"; }
@test "paths: lists /proc/acpi (list /proc/acpi)" { row paths "list /proc/acpi" "empty"; }
@test "paths: lists /proc/dynamic_debug (list /proc/dynamic_debug)" { row paths "list /proc/dynamic_debug" "empty"; }
@test "paths: sets kernel.core_pattern (write sysctl kernel/core_pattern)" { row paths "write sysctl kernel/core_pattern" "EACCES"; }
@test "paths: sets kernel.modprobe (write sysctl kernel/modprobe)" { row paths "write sysctl kernel/modprobe" "EACCES"; }
@test "paths: sets kernel.sysrq (write sysctl kernel/sysrq)" { row paths "write sysctl kernel/sysrq" "EACCES"; }
@test "paths: sets kernel.yama.ptrace_scope (write sysctl kernel/yama/ptrace_scope)" { row paths "write sysctl kernel/yama/ptrace_scope" "EACCES"; }
@test "paths: sets kernel.kptr_restrict (write sysctl kernel/kptr_restrict)" { row paths "write sysctl kernel/kptr_restrict" "EACCES"; }
@test "paths: sets kernel.randomize_va_space (write sysctl kernel/randomize_va_space)" { row paths "write sysctl kernel/randomize_va_space" "EACCES"; }
@test "paths: sets vm.overcommit_memory (write sysctl vm/overcommit_memory)" { row paths "write sysctl vm/overcommit_memory" "EACCES"; }
@test "paths: sets vm.drop_caches (write sysctl vm/drop_caches)" { row paths "write sysctl vm/drop_caches" "EACCES"; }
@test "paths: sets fs.suid_dumpable (write sysctl fs/suid_dumpable)" { row paths "write sysctl fs/suid_dumpable" "EACCES"; }
@test "paths: sets user.max_user_namespaces (write sysctl user/max_user_namespaces)" { row paths "write sysctl user/max_user_namespaces" "EACCES"; }
@test "paths: sets net.ipv4.ip_forward (write sysctl net/ipv4/ip_forward)" { row paths "write sysctl net/ipv4/ip_forward" "EACCES"; }
@test "paths: writes into the kernel's words (write /dev/kmsg)" { row paths "write /dev/kmsg" "EACCES"; }
@test "paths: reads the kernel's words (read /dev/kmsg)" { row paths "read /dev/kmsg" "EACCES"; }
@test "paths: adds to the kernel's random numbers (write /dev/urandom)" { row paths "write /dev/urandom" "EACCES"; }
@test "paths: asks for a crash (write sysrq)" { row paths "write sysrq" "EACCES"; }
@test "paths: sees PID 1 in /proc (see PID 1)" { row paths "see PID 1" "ENOENT"; }
@test "paths: reads PID 1's environment (PID 1 environ)" { row paths "PID 1 environ" "ENOENT"; }
@test "paths: opens PID 1's memory (PID 1 mem)" { row paths "PID 1 mem" "ENOENT"; }
@test "paths: goes by PID 1's root (PID 1 root)" { row paths "PID 1 root" "ENOENT"; }
@test "paths: lists PID 1's descriptors (PID 1 fd)" { row paths "PID 1 fd" "ENOENT"; }
@test "paths: makes PID 1 the first to be killed (PID 1 oom)" { row paths "PID 1 oom" "ENOENT"; }
@test "paths: opens other runners' memory (others' mem)" { row paths "others' mem" "EACCES"; }
@test "paths: opens other runners' memory for writing (others' mem, writing)" { row paths "others' mem, writing" "EACCES"; }
@test "paths: sees what other runners are at (others' syscall)" { row paths "others' syscall" "EPERM"; }
@test "paths: opens other runners' control sockets (others' sockets)" { row paths "others' sockets" "ENXIO"; }
@test "paths: lists the control groups (list cgroups)" { row paths "list cgroups" "EACCES"; }
@test "paths: leaves its control group (write cgroup.procs)" { row paths "write cgroup.procs" "EACCES"; }
@test "paths: raises its memory (write memory.max)" { row paths "write memory.max" "EACCES"; }
@test "paths: raises its processes (write pids.max)" { row paths "write pids.max" "EACCES"; }
@test "paths: kills another group (write cgroup.kill)" { row paths "write cgroup.kill" "EACCES"; }
@test "paths: switches a processor off (write sysfs)" { row paths "write sysfs" "EROFS"; }
@test "paths: changes the huge pages (write thp)" { row paths "write thp" "EROFS"; }
@test "paths: reads /etc/shadow (read shadow)" { row paths "read shadow" "EACCES"; }
@test "paths: writes /etc/passwd (write passwd)" { row paths "write passwd" "EACCES"; }
@test "paths: opens a descriptor of it anew for writing (reopen passwd)" { row paths "reopen passwd" "EACCES"; }
@test "paths: writes the interpreter (write python)" { row paths "write python" "EACCES"; }
@test "paths: makes a file in / (make in /)" { row paths "make in /" "EACCES"; }
@test "paths: makes a file in /usr/bin (make in /usr)" { row paths "make in /usr" "EACCES"; }
@test "paths: makes a file in /etc (make in /etc)" { row paths "make in /etc" "EACCES"; }
@test "paths: makes a file in /dev (make in /dev)" { row paths "make in /dev" "EROFS"; }
@test "paths: makes a file in /run (make in /run)" { row paths "make in /run" "EACCES"; }
@test "paths: makes a module among the runners (make in runners)" { row paths "make in runners" "EACCES"; }
@test "paths: removes the runners' module (unlink)" { row paths "unlink" "EACCES"; }
@test "paths: renames /etc (rename)" { row paths "rename" "EACCES"; }
@test "paths: makes /usr/bin writable (chmod)" { row paths "chmod" "EPERM"; }
@test "paths: links a file of root's into its home (hard link)" { row paths "hard link" "EXDEV"; }
@test "paths: makes a node of the root disk (mknod vda)" { row paths "mknod vda" "EPERM"; }
@test "paths: makes a node of the memory (mknod mem)" { row paths "mknod mem" "EPERM"; }
@test "paths: makes a node of the port to the host (mknod vport)" { row paths "mknod vport" "EPERM"; }
@test "paths: runs a file in /dev/shm (run in shm)" { row paths "run in shm" "EACCES"; }
@test "paths: leaves the root by .. (root's parent)" { row paths "root's parent" "the root"; }
@test "paths: finds a mount that honours set-id bits (nosuid)" { row paths "nosuid" "none"; }
@test "paths: finds set-id files (set-id files)" { row paths "set-id files" "0"; }
@test "paths: finds other device nodes (nodes)" { row paths "nodes" "full kmsg null random tty urandom zero"; }
@test "paths: has a home without a limit of files (inodes of home)" { row paths "inodes of home" "204800"; }
@test "paths: has a /tmp without a limit of files (inodes of tmp)" { row paths "inodes of tmp" "102400"; }
@test "paths: has a /dev/shm without a limit of files (inodes of shm)" { row paths "inodes of shm" "20480"; }
@test "rights: becomes uid 0 (setuid)" { row rights "setuid" "EPERM"; }
@test "rights: becomes uid 0 in all three (setresuid)" { row rights "setresuid" "EPERM"; }
@test "rights: becomes uid 0 in effect (seteuid)" { row rights "seteuid" "EPERM"; }
@test "rights: becomes gid 0 (setgid)" { row rights "setgid" "EPERM"; }
@test "rights: joins the group of disks (setgroups)" { row rights "setgroups" "EPERM"; }
@test "rights: becomes uid 0 without a library (setuid raw)" { row rights "setuid raw" "EPERM"; }
@test "rights: has another uid somewhere (uids)" { row rights "uids" "1000 1000 1000 1000"; }
@test "rights: has another gid somewhere (gids)" { row rights "gids" "1000 1000 1000 1000"; }
@test "rights: is in a further group (groups)" { row rights "groups" "none"; }
@test "rights: inherits a capability (CapInh)" { row rights "CapInh" "0000000000000000"; }
@test "rights: is permitted a capability (CapPrm)" { row rights "CapPrm" "0000000000000000"; }
@test "rights: has a capability (CapEff)" { row rights "CapEff" "0000000000000000"; }
@test "rights: could get a capability by exec (CapBnd)" { row rights "CapBnd" "0000000000000000"; }
@test "rights: keeps a capability over exec (CapAmb)" { row rights "CapAmb" "0000000000000000"; }
@test "rights: could get privileges by exec (NoNewPrivs)" { row rights "NoNewPrivs" "1"; }
@test "rights: has no filter (Seccomp)" { row rights "Seccomp" "2"; }
@test "rights: has something in the bounding set (bounding set)" { row rights "bounding set" "0"; }
@test "rights: has a root that is more than a user (securebits)" { row rights "securebits" "239"; }
@test "rights: changes its securebits (set securebits)" { row rights "set securebits" "EPERM"; }
@test "rights: takes CAP_SYS_ADMIN (capset SYS_ADMIN)" { row rights "capset SYS_ADMIN" "EPERM"; }
@test "rights: takes CAP_SETUID (capset SETUID)" { row rights "capset SETUID" "EPERM"; }
@test "rights: raises an ambient capability (ambient)" { row rights "ambient" "EPERM"; }
@test "rights: takes no_new_privs back (new privileges)" { row rights "new privileges" "EINVAL"; }
@test "rights: switches its filter off (seccomp off)" { row rights "seccomp off" "EINVAL"; }
@test "rights: puts a filter that allows all above it (seccomp above)" { row rights "seccomp above" "EPERM"; }
@test "rights: runs another program for bpf (after exec)" { row rights "after exec" "1"; }
@test "rights: moves its own program's bounds (PR_SET_MM)" { row rights "PR_SET_MM" "EPERM"; }
@test "rights: gives a file a capability (file capability)" { row rights "file capability" "EPERM"; }
@test "rights: gives a file to root (chown)" { row rights "chown" "EPERM"; }
@test "rights: writes a trusted attribute (trusted xattr)" { row rights "trusted xattr" "EPERM"; }
@test "rights: raises its number of processes (RLIMIT_NPROC)" { row rights "RLIMIT_NPROC" "ValueError"; }
@test "rights: raises its number of files (RLIMIT_NOFILE)" { row rights "RLIMIT_NOFILE" "ValueError"; }
@test "rights: raises its locked memory (RLIMIT_MEMLOCK)" { row rights "RLIMIT_MEMLOCK" "ValueError"; }
@test "rights: raises its niceness' limit (RLIMIT_NICE)" { row rights "RLIMIT_NICE" "ValueError"; }
@test "rights: raises its real-time priority's limit (RLIMIT_RTPRIO)" { row rights "RLIMIT_RTPRIO" "ValueError"; }
@test "rights: changes PID 1's limits (prlimit init)" { row rights "prlimit init" "PermissionError"; }
@test "rights: locks a MiB of memory (mlock)" { row rights "mlock" "ENOMEM"; }
@test "rights: takes a higher priority (nice)" { row rights "nice" "EACCES"; }
@test "rights: gives PID 1 a lower priority (renice init)" { row rights "renice init" "EPERM"; }
@test "rights: takes the processor for itself (SCHED_FIFO)" { row rights "SCHED_FIFO" "EPERM"; }
@test "rights: moves PID 1 (init's affinity)" { row rights "init's affinity" "EPERM"; }
@test "rights: is never to be killed for memory (oom_score_adj)" { row rights "oom_score_adj" "EACCES"; }
@test "rights: kills PID 1 (kill init)" { row rights "kill init" "EPERM"; }
@test "rights: sends PID 1 every signal (signals to init)" { row rights "signals to init" "EPERM"; }
@test "rights: kills PID 1 by a descriptor (pidfd init)" { row rights "pidfd init" "EPERM"; }
@test "rights: traces PID 1 (attach to init)" { row rights "attach to init" "EPERM"; }
@test "rights: traces PID 1 without stopping it (seize init)" { row rights "seize init" "EPERM"; }
@test "rights: reads PID 1's memory (read init)" { row rights "read init" "EPERM"; }
@test "rights: writes PID 1's memory (write init)" { row rights "write init" "EPERM"; }
@test "rights: takes a descriptor of PID 1's (init's descriptors)" { row rights "init's descriptors" "EPERM"; }
@test "rights: compares itself to PID 1 (kcmp init)" { row rights "kcmp init" "EPERM"; }
@test "rights: traces other runners (attach to others)" { row rights "attach to others" "EPERM"; }
@test "rights: reads other runners' memory (read others)" { row rights "read others" "EPERM"; }
@test "rights: writes other runners' memory (write others)" { row rights "write others" "EPERM"; }
@test "rights: takes other runners' descriptors (others' descriptors)" { row rights "others' descriptors" "EPERM"; }
@test "rights: has other runners' memory swapped out (advise others)" { row rights "advise others" "EPERM"; }
@test "rights: serves port 80 (low port)" { row rights "low port" "EACCES"; }
@test "rights: makes a raw socket (raw socket)" { row rights "raw socket" "EPERM"; }
@test "rights: makes a socket for pings (ping socket)" { row rights "ping socket" "EACCES"; }
@test "rights: takes the loopback down (lo down)" { row rights "lo down" "EPERM"; }
@test "rights: reaches another host (network)" { row rights "network" "ENETUNREACH"; }
@test "limits: forks without end (fork bomb)" { row limits "fork bomb" "EAGAIN True"; }
@test "limits: starts threads without end (thread bomb)" { row limits "thread bomb" "RuntimeError True"; }
@test "limits: opens files without end (files)" { row limits "files" "EMFILE"; }
@test "limits: makes pipes without end (pipes)" { row limits "pipes" "EMFILE"; }
@test "limits: makes watchers without end (inotify)" { row limits "inotify" "EMFILE"; }
@test "limits: raises its files as far as it may (more files)" { row limits "more files" "1048576"; }
@test "limits: fills /tmp (fill /tmp)" { row limits "fill /tmp" "ENOSPC"; }
@test "limits: fills /dev/shm (fill /dev/shm)" { row limits "fill /dev/shm" "ENOSPC"; }
@test "limits: reserves more than /tmp has (reserve /tmp)" { row limits "reserve /tmp" "ENOSPC"; }
@test "limits: reserves more than /dev/shm has (reserve /dev/shm)" { row limits "reserve /dev/shm" "ENOSPC"; }
@test "limits: reserves more than its home has (reserve home)" { row limits "reserve home" "ENOSPC"; }
@test "limits: makes files in /dev/shm without end (names in /dev/shm)" { row limits "names in /dev/shm" "ENOSPC"; }
@test "limits: asks for a PiB (absurd memory)" { row limits "absurd memory" "MemoryError"; }
@test "limits: follows a link to itself (symlinks)" { row limits "symlinks" "ELOOP"; }
@test "limits: makes a name of 256 bytes (long name)" { row limits "long name" "ENAMETOOLONG"; }
@test "limits: finds the machine as it was, after all that (lives)" { row limits "lives" "1048576"; }
@test "works: writes and runs code in one piece of memory (jit)" { row works "jit" "42"; }
@test "works: makes written memory run (jit in turns)" { row works "jit in turns" "42"; }
@test "works: has C call Python (callback)" { row works "callback" "[0, 1, 2, 3]"; }
@test "works: shares work among forks (pool fork)" { row works "pool fork" "[0, 1, 4, 9]"; }
@test "works: gives work to a fresh interpreter (pool spawn)" { row works "pool spawn" "[0, 1, 4, 9]"; }
@test "works: shares memory with a child (shared memory)" { row works "shared memory" "7"; }
@test "works: locks between processes (semaphore)" { row works "semaphore" "200"; }
@test "works: runs a pipeline (pipeline)" { row works "pipeline" "5"; }
@test "works: serves and asks on the loopback (asyncio server)" { row works "asyncio server" "HELLO"; }
@test "works: runs a process in an event loop (asyncio process)" { row works "asyncio process" "hi"; }
@test "works: starts twenty threads (threads)" { row works "threads" "20"; }
@test "works: keeps a database with a write-ahead log (sqlite)" { row works "sqlite" "wal 45"; }
@test "works: writes a file through memory (shared file)" { row works "shared file" "hello"; }
@test "works: catches a timer's signal (alarm)" { row works "alarm" "1"; }
@test "works: runs a shell on a terminal (terminal)" { row works "terminal" "got word"; }
@test "works: dumps its own stack (faulthandler)" { row works "faulthandler" "True"; }
@test "works: debugs itself (pdb)" { row works "pdb" "True"; }
@test "works: stops, continues and ends a shell's job (job control)" { row works "job control" "True"; }
@test "works: runs a program from memory (memfd)" { row works "memfd" "0"; }
@test "works: runs what it has written into its home (run in home)" { row works "run in home" "ran"; }
@test "works: runs what it has written into /tmp (run in /tmp)" { row works "run in /tmp" "ran"; }
@test "works: chooses its processors (affinity)" { row works "affinity" "ok"; }
@test "works: sets a robust list (robust list)" { row works "robust list" "ok"; }
@test "works: asks for restartable sequences (rseq)" { row works "rseq" "EINVAL"; }
@test "works: passes a descriptor over a socket (descriptors)" { row works "descriptors" "through"; }
@test "works: asks who is at the other end (peer)" { row works "peer" "True 1000"; }
@test "works: talks TCP on the loopback (tcp)" { row works "tcp" "hi"; }
@test "works: talks TCP over IPv6 there (tcp6)" { row works "tcp6" "hi"; }
@test "works: talks UDP there (udp)" { row works "udp" "hi"; }
@test "works: lists the interfaces (interfaces)" { row works "interfaces" "[(1, 'lo')]"; }
@test "works: lists their addresses (addresses)" { row works "addresses" "True"; }
@test "works: debugs its own child (trace)" { row works "trace" "42"; }
@test "works: attaches to its own child (attach)" { row works "attach" "ok"; }
@test "works: reads its own child's memory (read a child)" { row works "read a child" "secret"; }
@test "works: waits for an event and a timer (events)" { row works "events" "2"; }
@test "works: watches a directory (inotify)" { row works "inotify" "True"; }
@test "works: locks a file both ways (locks)" { row works "locks" "ok"; }
@test "works: makes a piece of System V memory (system v)" { row works "system v" "ok"; }
@test "works: puts a filter of its own above (own filter)" { row works "own filter" "-1"; }
@test "works: splices memory into a file (splice)" { row works "splice" "spliced"; }
@test "works: has the kernel copy a file (copy)" { row works "copy" "copied"; }
@test "works: makes a file without a name (nameless)" { row works "nameless" "ok"; }
@test "works: runs without randomised addresses (personality)" { row works "personality" "ran"; }
@test "works: lowers its own priority (nice)" { row works "nice" "5"; }
@test "works: unshares its table of descriptors (unshare)" { row works "unshare" "ok"; }
@test "works: uses modules in C (extensions)" { row works "extensions" "2d711642 2363233923 0.25 3"; }
@test "works: reads the machine's figures (machine)" { row works "machine" "True"; }
@test "works: reads random bytes (random)" { row works "random" "16"; }
@test "raw: makes a call of i386 (int80 getpid)" { row raw "int80 getpid" "SIGSYS"; }
@test "raw: mounts by a call of i386 (int80 mount)" { row raw "int80 mount" "SIGSYS"; }
@test "raw: makes a call of x32 (x32 getpid)" { row raw "x32 getpid" "SIGSYS"; }
@test "raw: loads a program by a call of x32 (x32 bpf)" { row raw "x32 bpf" "SIGSYS"; }
@test "raw: calls into the old fixed page (vsyscall)" { row raw "vsyscall" "SIGSEGV"; }
@test "raw: makes a call that there is not (call -1)" { row raw "call -1" "ENOSYS"; }
@test "raw: writes to a port (outb)" { row raw "outb" "SIGSEGV"; }
@test "raw: switches interrupts off (cli)" { row raw "cli" "SIGSEGV"; }
@test "raw: halts the processor (hlt)" { row raw "hlt" "SIGSEGV"; }
@test "raw: reads where the kernel is entered (rdmsr)" { row raw "rdmsr" "SIGSEGV"; }
@test "raw: writes a control register (cr0)" { row raw "cr0" "SIGSEGV"; }
@test "raw: reads the kernel's memory (kernel address)" { row raw "kernel address" "SIGSEGV"; }
@test "raw: maps the page at zero (page zero)" { row raw "page zero" "EPERM"; }
@test "raw: writes a file through its own copy (private page)" { row raw "private page" "ok"; }
@test "raw: maps a program of the system for writing (shared page)" { row raw "shared page" "EACCES"; }
@test "raw: overflows its stack (stack)" { row raw "stack" "SIGSEGV"; }
@test "raw: traces a call and makes it bpf (traced bpf)" { row raw "traced bpf" "EPERM"; }
@test "raw: traces a call and makes it unshare (traced unshare)" { row raw "traced unshare" "EPERM"; }
@test "raw: traces a call and makes it mount (traced mount)" { row raw "traced mount" "EPERM"; }
@test "raw: allows unshare by a filter above (allow above)" { row raw "allow above" "EPERM"; }
@test "raw: has another process allow unshare (continue above)" { row raw "continue above" "EPERM"; }
@test "raw: changes its filter for the strict mode (strict mode)" { row raw "strict mode" "EINVAL"; }
@test "raw: clones into a user namespace (clone user)" { row raw "clone user" "EPERM"; }
@test "raw: clones into six namespaces (clone all)" { row raw "clone all" "EPERM"; }
@test "raw: does so by the library (library clone)" { row raw "library clone" "EPERM"; }
@test "raw: leaves by a chroot and dots (chroot escape)" { row raw "chroot escape" "EPERM"; }
@test "raw: mounts over /usr/bin (mount over)" { row raw "mount over" "EPERM"; }
@test "raw: has a program run at each crash (core pattern)" { row raw "core pattern" "EACCES"; }
@test "raw: maps itself to root (uid map)" { row raw "uid map" "EPERM"; }
@test "raw: runs a set-uid copy of itself as a user (set-uid copy)" { row raw "set-uid copy" "ok"; }
@test "raw: runs a set-gid copy of itself as a user (set-gid copy)" { row raw "set-gid copy" "ok"; }
@test "raw: gives such a copy to root (set-uid root)" { row raw "set-uid root" "EPERM"; }
@test "raw: attaches to PID 1 (trace init)" { row raw "trace init" "EPERM"; }
@test "raw: opens PID 1's memory (init memory)" { row raw "init memory" "ENOENT"; }
@test "raw: kills PID 1 (kill init)" { row raw "kill init" "EPERM"; }
@test "raw: queues a signal to PID 1 (queue to init)" { row raw "queue to init" "EPERM"; }
@test "raw: leaves no core file at an abort, though it has allowed itself one (core)" { row raw "core" "ok"; }
@test "raw: makes files in /tmp without end (names in /tmp)" { row raw "names in /tmp" "ENOSPC"; }
@test "node: compiles a hot function (hot function)" { row node "hot function" "784002"; }
@test "node: runs WebAssembly (wasm)" { row node "wasm" "42"; }
@test "node: shares memory with a worker (worker)" { row node "worker" "7"; }
@test "node: serves on the loopback (server)" { row node "server" "hi"; }
@test "node: serves on a socket with a name (local socket)" { row node "local socket" "hi"; }
@test "node: looks localhost up (localhost)" { row node "localhost" "127.0.0.1"; }
@test "node: lists the interfaces (interfaces)" { row node "interfaces" "lo"; }
@test "node: runs a process (child process)" { row node "child process" "hi"; }
@test "node: talks to a fork (fork)" { row node "fork" "hello"; }
@test "node: watches a directory (watch)" { row node "watch" "seen"; }
@test "node: signs and verifies (crypto)" { row node "crypto" "true"; }
@test "node: counts processors and memory (processors)" { row node "processors" "true"; }
@test "shell: sorts in a pipeline (pipeline)" { row shell "pipeline" "100 99"; }
@test "shell: reads from processes (substitution)" { row shell "substitution" "one two"; }
@test "shell: talks to a coprocess (coproc)" { row shell "coproc" "through"; }
@test "shell: ends a job of its own (job)" { row shell "job" "143"; }
@test "shell: traps a signal (trap)" { row shell "trap" "1"; }
@test "shell: raises its files within the limit (ulimit)" { row shell "ulimit" "2048"; }
@test "shell: reads a here-string (here)" { row shell "here" "word"; }
@test "shell: opens a descriptor by number (descriptor)" { row shell "descriptor" "text"; }
@test "shell: reads from a pipe with a name (fifo)" { row shell "fifo" "first"; }
@test "shell: copies by tar (tar)" { row shell "tar" "text"; }
@test "shell: bounds a command's time (timeout)" { row shell "timeout" "124"; }
@test "shell: runs a command in a session of its own (setsid)" { row shell "setsid" "apart"; }
@test "shell: binds a command to a processor (taskset)" { row shell "taskset" "bound"; }
@test "shell: locks a file (flock)" { row shell "flock" "locked"; }
@test "shell: runs a command with less priority (nice)" { row shell "nice" "5"; }
@test "shell: calculates (awk)" { row shell "awk" "3.142"; }
@test "shell: lists its own process (ps)" { row shell "ps" "bash"; }
@test "shell: asks what is mounted on /tmp (df)" { row shell "df" "/tmp"; }
@test "output: ends as any other program (end)" { row output "end" "0 exited null -"; }
@test "output: is nothing but files, directories and links that stay in it (kinds)" { row output "kinds" "only those"; }
@test "output: has its harmless file (plain)" { row output "plain" "x"; }
@test "output: has a hard link as a file of its own (twin)" { row output "twin" "x"; }
@test "output: has odd but harmless names as they are (odd names)" { row output "odd names" "\$(reboot) %s%n -rf ... ..; CON back\\slash blank_ quote'\""; }
@test "output: has a name of 255 bytes (long name)" { row output "long name" "there"; }
@test "output: has names of any bytes as they are (bad names)" { row output "bad names" "5"; }
@test "output: has no link to /etc/shadow (shadow)" { row output "shadow" "absent"; }
@test "output: has no link up the tree (up)" { row output "up" "absent"; }
@test "output: has no link to a directory (etc)" { row output "etc" "absent"; }
@test "output: has no link in a directory's place (turned)" { row output "turned" "absent"; }
@test "output: has the directory where it went (was)" { row output "was" "x"; }
@test "output: has a link to itself as one (loop)" { row output "loop" "loop"; }
@test "output: has a link to its neighbour as one (alias)" { row output "alias" "x"; }
@test "output: has no pipe (fifo)" { row output "fifo" "absent"; }
@test "output: has no socket (socket)" { row output "socket" "absent"; }
@test "output: has no device (device)" { row output "device" "absent"; }
@test "output: has no file of a TiB (sparse)" { row output "sparse" "absent"; }
@test "output: has no set-uid bit (set-uid)" { row output "set-uid" "755"; }
@test "output: has no set-gid bit (set-gid)" { row output "set-gid" "755"; }
@test "output: has what the program could not read itself (unreadable)" { row output "unreadable" "600"; }
@test "output: has a directory that is open to its owner (locked)" { row output "locked" "700"; }
@test "output: has no path deeper than 64 (depth)" { row output "depth" "64"; }
@test "output: has a file like a result's, apart from it (exit_code)" { row output "exit_code" "x 0"; }
@test "output: counts what is left out (dropped)" { row output "dropped" "8"; }
@test "after: of a hundred thousand files and their directory 65536 are kept (many)" { row after "many" "65535"; }
@test "after: the others are counted (many dropped)" { row after "many dropped" "34465"; }
@test "after: no machine has a job when all have ended (leased)" { row after "leased" "0"; }
@test "after: the appliance is well (health)" { row after "health" "ok"; }
@test "ends: writes garbage to every descriptor (garbage)" { row ends "garbage" "33 exited null -"; }
@test "ends: tells a value by itself, and no more than that (forged value)" { row ends "forged value" "3 exited 7 -"; }
@test "ends: prints what its runner would (forged words)" { row ends "forged words" "2 exited null R"; }
@test "ends: writes files named like its results (forged files)" { row ends "forged files" "1 exited null -"; }
@test "ends: writes into other runners' pipes (others' pipes)" { row ends "others' pipes" "6 exited null done"; }
@test "ends: closes every descriptor (close all)" { row ends "close all" "7 exited null -"; }
@test "ends: kills everybody it may (kill all)" { row ends "kill all" "5 exited null survived"; }
@test "ends: sends everybody SIGTERM and SIGSTOP (term all)" { row ends "term all" "5 exited null survived"; }
@test "ends: stops itself (stop)" { row ends "stop" "124 timeout null up"; }
@test "ends: leaves a daemon that ignores every signal (daemon)" { row ends "daemon" "4 exited null -"; }
@test "ends: gives PID 1 a child with another exit code (init's child)" { row ends "init's child" "5 exited null reaped"; }
@test "ends: exits beside threads that spin (threads)" { row ends "threads" "8 exited null -"; }
@test "ends: becomes another program (another program)" { row ends "another program" "9 exited null sh"; }
@test "ends: makes a call of i386 in its first process (another ABI)" { row ends "another ABI" "159 signaled null before"; }
@test "ends: takes memory without end (memory)" { row ends "memory" "137 out_of_memory null before"; }
@test "ends: has its children take memory without end (memory of children)" { row ends "memory of children" "137 out_of_memory null -"; }
@test "ends: fills its home beyond its memory (memory of files)" { row ends "memory of files" "137 out_of_memory null -"; }
@test "ends: fills /dev/shm beyond its memory (memory of shm)" { row ends "memory of shm" "137 out_of_memory null -"; }
@test "ends: fills pipes beyond its memory (memory of pipes)" { row ends "memory of pipes" "137 out_of_memory null -"; }
@test "ends: is the fork bomb of the shell (shell's bomb)" { row ends "shell's bomb" "124 timeout null -"; }
@test "ends: leaves a hundred thousand files (many files)" { row ends "many files" "0 exited null 65536"; }
