# SPDX-License-Identifier: Apache-2.0
#
# The only build file.  make           the daemon and the guest's init
#                       make demo      everything, then one job per language
#                       make check     everything that can be tested here
#                       make help      the other words
# VARIANT=release|debug|asan|fuzz chooses the flags; each has its own objects.
# V=1 shows the commands; WERROR= lets a newer compiler's warnings pass.

VARIANT ?= release
PREFIX  ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd
TIME    ?= 60
KILLS   ?= 2000
WERROR  ?= -Werror
O       := build/$(VARIANT)

# What a fresh Debian 12 or 13 lacks: to build, to run, to make the image.
PACKAGES := \
	gcc libc6-dev make pkg-config \
	libfuse3-dev libjansson-dev libseccomp-dev libssl-dev libzstd-dev libc-ares-dev \
	libpython3-dev zlib1g-dev \
	qemu-system-x86 fuse3 \
	mmdebstrap erofs-utils e2fsprogs cpio kmod python3 xz-utils zstd lz4 \
	bubblewrap
# To test as well. A test may use what is in these packages and nothing else.
TEST_PACKAGES := \
	bats bats-assert bats-support jq rsync inotify-tools attr acl strace \
	psmisc procps util-linux btrfs-progs man-db groff-base \
	ed less nano vim-tiny zip unzip git perl \
	busybox gawk guile-3.0 lua5.4 mawk mksh nodejs php-cli ruby tcl zsh \
	default-jdk-headless golang-go rustc \
	clang libclang-rt-dev llvm cppcheck shellcheck clang-format \
	python3-pip python3-matplotlib python3-pandas curl parallel \
	sshfs openssh-sftp-server iproute2
# To make packages of Debian.
DEB_PACKAGES := build-essential debhelper dpkg-dev fakeroot lintian
# To make the image for containers.
OCI_PACKAGES := mmdebstrap umoci uidmap
OCI_TEST_PACKAGES := podman crun slirp4netns netavark catatonit curl jq iproute2 procps
PACKAGE_TEST_PACKAGES := $(DEB_PACKAGES) gnupg prometheus
# What only one of them has.
DEBIAN := $(shell . /etc/os-release && echo $$VERSION_ID)
TEST_PACKAGES += $(if $(filter 12,$(DEBIAN)),yash)

# --- flags ------------------------------------------------------------------

# guest/ names layout/base/ from the top
WARN := -iquote . -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-qual \
	-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla \
	-Wformat=2 $(WERROR)
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
	-fstack-clash-protection -fPIE
HARDEN_LINK := -pie -Wl,-z,relro,-z,now,-z,noexecstack
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

FLAGS_release := -O2 -g $(HARDEN)
LINK_release  := $(HARDEN_LINK)
FLAGS_debug   := -Og -g3 -fPIE
LINK_debug    := -pie
# A trap says where it is, by ASan's handler of SIGILL. A message of UBSan's takes 4 MB
# of constants, which ASan enters as globals at each start, and searches at each end.
FLAGS_asan    := -Og -g1 -fno-omit-frame-pointer $(SANITIZE) \
	-fsanitize-undefined-trap-on-error
# Not what a user gets, but half of a start's page faults less: a test starts four
# processes of it.
LINK_asan     := $(SANITIZE) -static-libasan -static-libubsan -no-pie
# clang takes 1.7 times as long for -O1, and the fuzzers then run 1.3 to 1.9 times as
# fast: for a long run, on a clean build/fuzz, give CFLAGS=-O1.
FLAGS_fuzz    := -O0 -g1 -fsanitize=fuzzer-no-link $(SANITIZE)
LINK_fuzz     := -fsanitize=fuzzer $(SANITIZE)
ifeq ($(VARIANT),fuzz)
CC := clang
endif
ifeq ($(FLAGS_$(VARIANT)),)
$(error VARIANT is "$(VARIANT)"; it must be release, debug, asan or fuzz)
endif

LIBRARIES := fuse3 jansson libseccomp libcrypto libzstd
# Packages may be missing until `make deps` has run.
PKG_CFLAGS := $(filter-out -D_FILE_OFFSET_BITS=%,\
	$(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null))
PKG_LIBS := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null)
GATEWAY_LIBS := -ljansson -lz -lcrypto -lseccomp
DOOR_LIBS := -lcares -ljansson -lseccomp

ALL_CFLAGS = -std=c11 -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(WARN) \
	$(FLAGS_$(VARIANT)) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(LINK_$(VARIANT)) -Wl,--as-needed $(LDFLAGS)

# --- sources, by room -------------------------------------------------------

# The lowest first, as tests/run/order.py has them. A client of the mount is no room
# of the daemon.
ROOMS    := base users handover store files sched network jobs builds run living submit mount \
	control fuse server cli
CLIENTS  := local client batch spool
FUZZED   := base users store
GATEWAY_ROOMS := base mount jobs http control envd code mcp ui
VM_ROOMS := os environment net jail channel qemu pool
GUEST_ROOMS := wire os net files run agent warm init

LAYOUT := $(wildcard layout/base/*.c layout/network/*.c layout/*.c)
FAKE   := $(wildcard vm/fake*.c vm/fake/*.c)
VM     := $(wildcard guest/wire/*.c) \
	$(filter-out $(FAKE),$(wildcard vm/*.c $(VM_ROOMS:%=vm/%/*.c)))
# Siblings that other systems than Linux get.
FOREIGN := %_kqueue.c %_none.c
CLIENT := $(filter-out $(FOREIGN),$(wildcard $(CLIENTS:%=fsd/%/*.c)))
UNPACK_PROGRAM := build/spool/unpack_program.c
FSD    := $(wildcard fsd/*.c $(ROOMS:%=fsd/%/*.c)) $(CLIENT) $(UNPACK_PROGRAM)
# A program of its own, so that the daemon links no HTTP.
UI_PAGE := build/gateway/ui_page.c
WATCH_PROGRAM := build/gateway/watch_program.c
RIGHTS := vm/os/rights.c vm/os/rights_calls.c
GATEWAY := $(sort $(wildcard $(GATEWAY_ROOMS:%=fsd/gateway/%/*.c) fsd/gateway/*.c) \
	$(UI_PAGE) $(WATCH_PROGRAM))
# A program of its own, so that the daemon links no resolver.
DOOR := $(wildcard fsd/door/*.c) guest/wire/wire.c guest/wire/wire_net.c \
	vm/net/door_wire.c $(RIGHTS) vm/os/fdpass.c vm/os/loop.c vm/os/uids.c
GUEST  := $(wildcard $(GUEST_ROOMS:%=guest/%/*.c)) layout/base/err.c layout/base/buf.c \
	layout/base/proc_status.c layout/base/host_name.c layout/env.c
# The daemon's files that name the machines' backend: compiled once for each.
CHOICE := $(if $(FSD),$(shell grep -ls FSD_BACKEND $(FSD)))

objects = $(patsubst %.c,$(O)/%.o,$(1))
COMMON := $(call objects,$(LAYOUT) $(VM) $(filter-out $(CHOICE),$(FSD)))
UNIT   := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*/*_test.c))
ifeq ($(VARIANT),asan)
# Not beside a sanitizer: what is loaded into a QEMU, and what looks at all of a
# process's memory (tests/run/run.py).
UNIT   := $(filter-out %/vm/zygote_test %/guest/unprotect_test,$(UNIT))
endif
TEST_TOOLS := build/tests/await build/tests/result
FUZZ   := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/*_fuzz.c))
GUEST_OBJECTS := $(patsubst %.c,build/guest/%.o,$(GUEST))

, := ,
ifneq ($(V),1)
Q := @
say = @echo '  $(1)'
endif

.PHONY: all shared unit fuzzers deps test-deps print-packages qemu image demo check check-quick \
	check-unit check-asan check-plain check-bats check-release check-fault check-qemu \
	check-docs check-same check-peer check-box check-debian13 check-engines check-older \
	check-fuzz check-online check-adapters check-kqueue suites bench bare deb bundle \
	check-package check-slurm oci check-oci \
	fault soak fuzz lint load same peer \
	format install install-units uninstall help clean
.DELETE_ON_ERROR:
.SECONDARY:

all: build/fsd build/fsd-fake build/fsd-gateway build/fsd-door build/guest/init $(TEST_TOOLS)

define link
$(call say,LINK  $@)
$(Q)mkdir -p $(@D)
$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -pthread
endef

# --- products ---------------------------------------------------------------

# The program has the real machines only; its twin for tests has the fake too.
$(O)/bin/fsd: $(COMMON) $(patsubst %.c,$(O)/%.qemu.o,$(CHOICE))
	$(link)

$(O)/bin/fsd-fake: $(COMMON) $(call objects,$(FAKE)) \
		$(patsubst %.c,$(O)/%.fake.o,$(CHOICE))
	$(link)

# The dashboard's page, and the sums that its browser checks it by.
$(UI_PAGE): $(wildcard fsd/gateway/ui/page.*) fsd/gateway/ui/pack.py
	$(call say,PACK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)/usr/bin/python3 -B fsd/gateway/ui/pack.py $@

# What runs in a sandbox to watch a directory.
$(WATCH_PROGRAM): fsd/gateway/envd/watch.py fsd/gateway/envd/pack.py
	$(call say,PACK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)/usr/bin/python3 -B fsd/gateway/envd/pack.py watch_program $< $@

# What runs in a machine to unpack an archive.
$(UNPACK_PROGRAM): fsd/spool/unpack.py fsd/gateway/envd/pack.py
	$(call say,PACK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)/usr/bin/python3 -B fsd/gateway/envd/pack.py unpack_program $< $@

$(O)/bin/fsd-gateway: $(call objects,$(GATEWAY) $(LAYOUT) $(RIGHTS))
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(GATEWAY_LIBS) -pthread

$(O)/bin/fsd-door: $(call objects,$(DOOR) $(LAYOUT))
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DOOR_LIBS)

build/fsd build/fsd-fake build/fsd-gateway build/fsd-door: build/%: build/release/bin/%
	$(Q)ln -f $< $@

build/guest/init: $(GUEST_OBJECTS)
	$(call say,LINK  $@)
	$(Q)$(CC) -static -o $@ $^ -lseccomp

# Both without their walls, so that the bench can say what these cost.
BARE := tests/bare/host.c
WALLED := vm/jail/jail_filter.c vm/jail/jail_cgroup.c fsd/server/restrain.c
BARE_WRAPS := syscall execve rights_keep rights_bound rights_landlock \
	rights_landlock_enter
build/bare/fsd: $(call objects,$(BARE) $(LAYOUT) $(filter-out $(WALLED),\
		$(VM) $(filter-out $(CHOICE),$(FSD)))) \
		$(patsubst %.c,$(O)/%.qemu.o,$(CHOICE))
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(BARE_WRAPS:%=-Wl,--wrap=%) -o $@ $^ \
		$(PKG_LIBS) -pthread
build/bare/init: build/guest/tests/bare/guest.o \
		$(filter-out build/guest/guest/os/filter.o,$(GUEST_OBJECTS))
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static -o $@ $^ -lseccomp

# What a zygote loads (vm/zygote/wire.h), in the program itself: one file to
# install, and nothing of the host's to trust. Never with a sanitizer: QEMU has
# none.
ZYGOTE := build/zygote/fsd-zygote.so
ZYGOTE_OBJECTS := $(patsubst %.c,build/zygote/%.o,$(wildcard vm/zygote/*.c) \
	vm/jail/jail_child.c vm/os/rights.c vm/os/fdpass.c vm/os/spawn.c layout/base/err.c)
$(ZYGOTE): $(ZYGOTE_OBJECTS)
	$(call say,LINK  $@)
	$(Q)$(CC) -shared -s -Wl,--gc-sections,--as-needed,-z,relro,-z,now \
		-o $@ $^
build/zygote/%.o: %.c Makefile
	$(call compile,-std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -fPIC \
		-fvisibility=hidden -ffunction-sections -fdata-sections \
		-fstack-protector-strong -ftls-model=initial-exec)
$(call objects,vm/jail/zygote_library.c): $(ZYGOTE)

# The bats files wait with the one and read results with the other.
$(TEST_TOOLS): build/tests/%: tests/lib/%.c Makefile
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -o $@ $< -Wl,--as-needed -ljansson

# What the tests of hostile programs run in a guest.
build/hostile/raw: tests/hostile/raw.c Makefile
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O1 -static -s -o $@ $<

# What the guest's interpreters load: the same bytes everywhere. Python's is for
# each version that knows the stable interface.
PYTHON_NATIVE := build/guest/native.abi3.so
NODE_NATIVE := build/guest/native.node
$(PYTHON_NATIVE): $(wildcard guest/runners/python/*.[ch])
$(NODE_NATIVE): $(wildcard guest/runners/node/*.[ch])
$(PYTHON_NATIVE) $(NODE_NATIVE): $(wildcard guest/runners/*.h) Makefile
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(patsubst %,-isystem %,\
		$(lastword $(wildcard /usr/include/python3.*))) \
		$(WARN) -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
		-fPIC -fvisibility=hidden -ffile-prefix-map=$(CURDIR)=. \
		-shared -s -static-libgcc -Wl,--exclude-libs,ALL \
		-Wl,--build-id=none,--as-needed,-z,relro,-z,now \
		-o $@ $(filter %.c,$^)

# What the image gets of guest/runners: with what is compiled, not its source.
RUNNERS := build/guest/runners
$(RUNNERS): $(PYTHON_NATIVE) $(NODE_NATIVE) $(shell find guest/runners -type f 2>/dev/null)
	$(Q)rm -rf $@ && cp -R guest/runners $@
	$(Q)find $@ \( -name '*.[ch]' -o -name __pycache__ \) -prune -exec rm -r {} +
	$(Q)cp $(PYTHON_NATIVE) $@/python/
	$(Q)cp $(NODE_NATIVE) $@/node/

# Archives without a main, so that a test pulls in what it names: a test is
# linked with what lies below its folder: tests/unit/guest is the guest's, tests/unit/fsd
# the daemon's.
# A fuzzer of the daemon's is linked with the rooms that parse.
CORE := $(call objects,$(LAYOUT) $(VM) $(FAKE))
$(O)/core.a: $(CORE)
ifeq ($(VARIANT),fuzz)
$(O)/fsd.a: $(CORE) $(call objects,$(wildcard $(FUZZED:%=fsd/%/*.c)))
else
$(O)/fsd.a: $(CORE) $(call objects,$(filter-out $(CHOICE) fsd/cli/main.c,$(FSD))) \
		$(patsubst %.c,$(O)/%.fake.o,$(filter-out fsd/cli/main.c,$(CHOICE)))
endif
$(O)/gateway.a: $(call objects,$(filter-out fsd/gateway/main.c,$(GATEWAY)) \
		$(LAYOUT) $(RIGHTS))
$(O)/guest.a: $(call objects,$(filter-out guest/init/init.c,$(GUEST)))
%.a:
	$(Q)rm -f $@ && ar crs $@ $^

$(O)/tests/unit/guest/%: $(O)/tests/unit/guest/%.o $(O)/guest.a
	$(link)
$(O)/tests/unit/fsd/%: $(O)/tests/unit/fsd/%.o $(O)/fsd.a
	$(link)
$(O)/tests/fuzz/fsd_%: $(O)/tests/fuzz/fsd_%.o $(O)/fsd.a
	$(link)
$(O)/tests/fuzz/guest_%: $(O)/tests/fuzz/guest_%.o $(O)/guest.a
	$(link)
$(O)/tests/unit/gateway/%: PKG_LIBS += $(GATEWAY_LIBS)
$(O)/tests/unit/gateway/%: $(O)/tests/unit/gateway/%.o $(O)/gateway.a
	$(link)
$(O)/tests/fuzz/gateway_%: PKG_LIBS += $(GATEWAY_LIBS)
$(O)/tests/fuzz/gateway_%: $(O)/tests/fuzz/gateway_%.o $(O)/gateway.a
	$(link)
# The gateway with the tools of MCP's conformance suite in the place of its own.
$(O)/tests/gateway/mcp_fixtures: $(call objects,tests/gateway/mcp_fixtures.c \
		$(filter-out fsd/gateway/mcp/mcp_tools.c,$(GATEWAY)) $(LAYOUT) $(RIGHTS))
	$(call say,LINK  $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(GATEWAY_LIBS) -pthread
$(O)/tests/unit/vm/zygote_test: | $(ZYGOTE)
# What waits for seconds waits for none (tests/unit/clock.h).
CLOCKED := channel_test lanes_adopt_test lanes_test machine_test shared_test
$(CLOCKED:%=$(O)/tests/unit/vm/%): LDFLAGS += $(patsubst %,-Wl$(,)--wrap=%,\
	clock_gettime epoll_wait timerfd_settime)
# Their clock is the test's (tests/unit/fsd/spool_fixture.h).
SPOOL_CLOCKED := $(patsubst %,spool_%_test,entries many ways kqueue lost)
$(SPOOL_CLOCKED:%=$(O)/tests/unit/fsd/%): LDFLAGS += -Wl,--wrap=clock_gettime
RELAY_CLOCKED := relay_test relay_limits_test relay_greedy_test
$(RELAY_CLOCKED:%=$(O)/tests/unit/vm/%): LDFLAGS += -Wl,--wrap=clock_gettime
# kqueue(2) made of inotify
$(O)/tests/unit/fsd/spool_kqueue_test: $(O)/tests/lib/kqueue/kevent.o
$(O)/tests/unit/fsd/spool_kqueue_test.o $(O)/tests/lib/kqueue/kevent.o: \
	CFLAGS += -Itests/lib/kqueue
$(O)/tests/%: $(O)/tests/%.o $(O)/core.a
	$(link)

# --- objects ----------------------------------------------------------------

# A dependency file is complete or absent: written aside, then renamed.
define compile
$(call say,CC    $@)
$(Q)mkdir -p $(@D)
$(Q)$(CC) $(1) -MMD -MP -MF $(@:.o=.d.new) -MT $@ -c -o $@ $<
$(Q)mv -f $(@:.o=.d.new) $(@:.o=.d)
endef

$(O)/%.qemu.o: %.c Makefile
	$(call compile,$(ALL_CFLAGS) -DFSD_BACKEND=vm_backend_qemu)
$(O)/%.fake.o: %.c Makefile
	$(call compile,$(ALL_CFLAGS) -DFSD_BACKEND=vm_backend_fake)
$(O)/%.o: %.c Makefile
	$(call compile,$(ALL_CFLAGS))
build/guest/%.o: %.c Makefile
	$(call compile,-std=c11 -D_GNU_SOURCE -I. $(WARN) -O2 -g \
		-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-pie)

-include $(shell find $(O) build/guest build/zygote -name '*.d' -type f \
	2>/dev/null)

# --- what people ask for ----------------------------------------------------

# What all variants have in common: two makes must not make it at a time.
shared: build/guest/init $(RUNNERS) $(ZYGOTE) $(TEST_TOOLS)

# What only `make bench` runs is compiled here too: it must not rot.
unit: $(UNIT) $(if $(filter release,$(VARIANT)),\
	$(O)/tests/vm/bench_jail build/bare/fsd)
fuzzers: $(FUZZ)

deps:
	@tests/run/deps.sh $(PACKAGES)
test-deps:
	@tests/run/deps.sh $(PACKAGES) $(TEST_PACKAGES)
print-packages:
	@echo $(PACKAGES)

# The QEMU of Debian 13 in build/qemu, with its libraries, if the host's own is old;
# a newer one, if there is one.
qemu:
	$(Q)vm/qemu/bring.sh build/qemu

image: build/guest/init $(RUNNERS)
	$(Q)guest/image/build.sh build/image --init build/guest/init \
		--runners $(RUNNERS) --cache build/image-cache

demo: deps
	$(Q)echo "It takes 5 to 15 minutes without KVM, and 1.1 GB in build/"
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all qemu image
	$(Q)tests/run/demo.sh

TESTS := MAKE='$(MAKE)' tests/run/run.py
check: test-deps
	$(Q)$(TESTS) lint plain asan bats release qemu docs same peer \
		fault fuzz
# A few minutes, on a tree that was built: lint, the unit tests, and a smoke of
# each area on fake and on real machines.
check-quick: test-deps
	$(Q)$(TESTS) lint unit smoke
check-unit check-asan check-plain check-bats check-release check-fault check-qemu \
check-docs check-same check-peer check-box check-debian13 check-engines check-fuzz:
	$(Q)$(TESTS) $(@:check-%=%)
# The real machines on the host's own QEMU, where a newer one was brought.
check-older:
	$(Q)FSD_QEMU=/usr/bin/qemu-system-x86_64 $(TESTS) qemu
# The long forms of two parts: what costs most as well, and all of CPython's
# tests that can be expected to pass.
same: all
	$(Q)tests/same/same.py --all
peer: all
	$(Q)tests/peer/peer.py
# What the registries of packages are needed for. It takes half an hour.
check-online: all
	$(Q)PATH=/usr/sbin:/usr/bin:/sbin:/bin:$$PATH bats --timing tests/online
# The adapters with their real frameworks, on real machines.
check-adapters: all
	$(Q)tests/gateway/adapters.sh $(PART)
# The files of a spool that POSIX is enough for, compiled for systems that have kqueue.
SPOOL_PORTABLE := $(patsubst %,layout/base/%.c,buf err utf8) layout/lang.c \
	$(patsubst %,fsd/local/%.c,beside maker own_dir tree_copy) \
	$(patsubst %,fsd/spool/%.c,claim entries entries_rules entries_scan entries_state \
	entries_store entry place survey watch_timer)
check-kqueue:
	$(Q)tests/run/kqueue.sh $(SPOOL_PORTABLE)
# The official suites, from checkouts of theirs in DIR, on real machines.
suites: all
	$(if $(DIR),,$(error DIR is missing: the directory with the checkouts))
	$(Q)tests/gateway/official/run.py $(DIR) $(SUITE)
# The packages in bare roots of Debian 12 and 13 (tests/package).
check-package: test-deps
	@tests/run/deps.sh $(PACKAGE_TEST_PACKAGES)
	$(Q)$(MAKE) --no-print-directory all qemu image
	$(Q)tests/package/run.sh build/package
# The image for containers, in podman as an ordinary user, on real machines.
check-oci: oci
	@tests/run/deps.sh $(OCI_TEST_PACKAGES)
	$(Q)tests/oci/run.sh build/oci
# The ways of fsd-slurm(7), on fake machines.
SLURM_PACKAGES := munge slurm-client slurmctld slurmd
check-slurm: test-deps
	@tests/run/deps.sh $(SLURM_PACKAGES)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/slurm/run.sh
lint:
	$(Q)$(TESTS) lint
fuzz:
	$(Q)FUZZ_TIME=$(TIME) $(TESTS) fuzz

# Each death of the daemon, then what came of the jobs that it had accepted.
fault: build/fsd build/fsd-fake
	$(Q)tests/fault/run.sh $(KILLS)

# An hour, unless TIME is given.
soak: build/fsd-fake
	$(Q)/usr/bin/python3 -B tests/fault/soak.py --seconds \
		$(if $(filter file default,$(origin TIME)),3600,$(TIME))

# The gateway: its figures hold on a quiet machine. LOAD="--only figures" for these.
load: all
	$(Q)/usr/bin/python3 -B tests/gateway/load.py $(LOAD)

bare: build/bare/fsd build/bare/init $(RUNNERS)
	$(Q)guest/image/build.sh build/bare/image --init build/bare/init \
		--runners $(RUNNERS) --cache build/image-cache

bench: test-deps
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all \
		$(O)/tests/vm/bench_jail
	$(Q)$(MAKE) --no-print-directory qemu image bare
	$(Q)/usr/bin/python3 -B tests/run/bench.py

format:
	clang-format -i $(wildcard layout/*.[ch] layout/base/*.[ch] \
		$(GUEST_ROOMS:%=guest/%/*.[ch]) vm/*.[ch] vm/*/*.[ch] fsd/*.[ch] fsd/*/*.[ch] \
		fsd/gateway/*/*.[ch] \
		tests/*/*.[ch])

# The release that this is, and what is missing there to make packages.
deb: deps
	@tests/run/deps.sh $(DEB_PACKAGES)
	$(Q)$(MAKE) --no-print-directory qemu image
	$(Q)fsd/debian/build.sh build/deb

# One file for hosts without a network: ENVIRONMENTS="NAME..." are in it too.
bundle: deb $(if $(ENVIRONMENTS),build/fsd)
	$(Q)fsd/debian/bundle.sh build/deb build/bundle $(ENVIRONMENTS)

# An image for hosts where only containers run.
oci: deb
	@tests/run/deps.sh $(OCI_PACKAGES)
	$(Q)fsd/oci/build.sh build/deb build/oci

UNITS := $(patsubst fsd/share/systemd/%,%,$(wildcard fsd/share/systemd/*/*))
install-units:
	install -d $(DESTDIR)$(UNITDIR)/system $(DESTDIR)$(UNITDIR)/user
	for unit in $(UNITS); do \
		sed 's|@BIN@|$(PREFIX)/bin|; s|@SHARE@|$(PREFIX)/share/fsd|' "fsd/share/systemd/$$unit" \
			>"$(DESTDIR)$(UNITDIR)/$$unit" && \
		chmod 644 "$(DESTDIR)$(UNITDIR)/$$unit" || exit; \
	done
	install -D -m 644 fsd/share/systemd/fsd.tmpfiles \
		$(DESTDIR)$(PREFIX)/lib/tmpfiles.d/fsd.conf
	install -D -m 644 fsd/share/systemd/fsd-gateway.sysusers \
		$(DESTDIR)$(PREFIX)/lib/sysusers.d/fsd-gateway.conf

install: all install-units
	install -D -m 755 build/fsd $(DESTDIR)$(PREFIX)/bin/fsd
	install -D -m 755 build/fsd-gateway $(DESTDIR)$(PREFIX)/bin/fsd-gateway
	install -D -m 755 build/fsd-door $(DESTDIR)$(PREFIX)/bin/fsd-door
	install -D -m 644 layout/jobtree.5 \
		$(DESTDIR)$(PREFIX)/share/man/man5/jobtree.5
	$(if $(wildcard fsd/fsd.8),install -D -m 644 fsd/fsd.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/fsd.8)
	install -D -m 644 fsd/fsd-env.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/fsd-env.8
	install -D -m 644 fsd/fsd-batch.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/fsd-batch.8
	install -D -m 644 fsd/fsd-gateway.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/fsd-gateway.8
	install -D -m 644 fsd/fsd-spool.8 \
		$(DESTDIR)$(PREFIX)/share/man/man8/fsd-spool.8
	install -D -m 644 fsd/fsd-operate.7 \
		$(DESTDIR)$(PREFIX)/share/man/man7/fsd-operate.7
	install -D -m 644 fsd/fsd-slurm.7 \
		$(DESTDIR)$(PREFIX)/share/man/man7/fsd-slurm.7
	install -D -m 644 fsd/share/prometheus/fsd.rules.yml \
		$(DESTDIR)$(PREFIX)/share/fsd/prometheus/fsd.rules.yml
	install -D -m 755 fsd/share/prometheus/textfile \
		$(DESTDIR)$(PREFIX)/share/fsd/prometheus/textfile
	install -D -m 755 fsd/share/slurm/batch \
		$(DESTDIR)$(PREFIX)/share/fsd/slurm/batch
	install -D -m 644 fsd/share/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fsd
	install -d $(DESTDIR)$(PREFIX)/share/fsd/env/stock \
		$(DESTDIR)$(PREFIX)/share/fsd/env/guest
	install -m 644 fsd/env/*.py $(DESTDIR)$(PREFIX)/share/fsd/env/
	install -m 644 fsd/env/stock/*.json \
		$(DESTDIR)$(PREFIX)/share/fsd/env/stock/
	install -m 644 guest/environment/*.py \
		$(DESTDIR)$(PREFIX)/share/fsd/env/guest/
	install -m 755 vm/qemu/bring.sh \
		$(DESTDIR)$(PREFIX)/share/fsd/bring-qemu.sh
	rm -rf $(DESTDIR)$(PREFIX)/share/fsd/qemu.new
	$(if $(wildcard build/qemu/origin),\
		cp -R build/qemu $(DESTDIR)$(PREFIX)/share/fsd/qemu.new && \
		rm -rf $(DESTDIR)$(PREFIX)/share/fsd/qemu && \
		mv $(DESTDIR)$(PREFIX)/share/fsd/qemu.new \
			$(DESTDIR)$(PREFIX)/share/fsd/qemu)
	$(if $(wildcard build/image/manifest*),\
		install -d $(DESTDIR)$(PREFIX)/share/fsd/image && \
		cp -R build/image/. $(DESTDIR)$(PREFIX)/share/fsd/image/)

	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/fsd/LICENSE
	install -m 644 README.md $(DESTDIR)$(PREFIX)/share/doc/fsd/README.md

# What install has put there, and nothing else: neither environments nor states.
INSTALLED := bin/fsd bin/fsd-gateway bin/fsd-door share/man/man5/jobtree.5 \
	share/man/man7/fsd-operate.7 share/man/man7/fsd-slurm.7 \
	share/fsd/prometheus/fsd.rules.yml \
	share/fsd/prometheus/textfile share/fsd/slurm/batch \
	lib/tmpfiles.d/fsd.conf lib/sysusers.d/fsd-gateway.conf \
	share/man/man8/fsd.8 share/man/man8/fsd-env.8 share/man/man8/fsd-gateway.8 \
	share/man/man8/fsd-batch.8 share/man/man8/fsd-spool.8 \
	share/bash-completion/completions/fsd share/fsd/bring-qemu.sh \
	$(patsubst fsd/env/%,share/fsd/env/%,$(wildcard fsd/env/*.py fsd/env/stock/*.json)) \
	$(patsubst guest/environment/%,share/fsd/env/guest/%,$(wildcard guest/environment/*.py)) \
	share/doc/fsd/LICENSE share/doc/fsd/README.md

uninstall:
	cd $(DESTDIR)$(PREFIX) && rm -f $(INSTALLED)
	rm -f $(UNITS:%=$(DESTDIR)$(UNITDIR)/%)
	cd $(DESTDIR)$(PREFIX) && rm -rf share/fsd/qemu share/fsd/image \
		share/fsd/env/__pycache__ share/fsd/env/guest/__pycache__
	-cd $(DESTDIR)$(PREFIX) && for dir in share/fsd/env/stock share/fsd/env/guest \
		share/fsd/env share/fsd/prometheus share/fsd/slurm share/fsd share/doc/fsd; do \
		[ ! -d $$dir ] || rmdir --ignore-fail-on-non-empty $$dir; done

define HELP
To build and install:
  make                 fsd, fsd-gateway and what a machine starts first
  make qemu image      QEMU of Debian, if a newer one is there, and the guest image
  make demo            all of it with what is missing on this host, then a job a language
  make install         under PREFIX (/usr/local), below DESTDIR; units in UNITDIR
  make deb             packages for this release of Debian, in build/deb
  make bundle          one file for a host without a network, in build/bundle
  make oci             an image for containers, in build/oci
  make uninstall       removes what make install has put there
  make deps test-deps  what a fresh Debian lacks, by apt
To test (tests/README.md tells more):
  make check-quick     three minutes, before a commit
  make check           all that can be tested here, fifteen minutes
  make check-unit check-bats check-qemu lint   parts of it
  make fuzz soak fault load bench              what takes longer
  make check-package check-slurm check-oci     packages; below Slurm; in a container
Besides:
  make format          by clang-format
  make clean           removes build/
Variables: VARIANT=release|debug|asan|fuzz, V=1 shows the commands, WERROR= lets
warnings pass.
endef
export HELP

help:
	@echo "$$HELP"

clean:
	rm -rf build
