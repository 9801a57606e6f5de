#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What `fsd env build` does on the host. tests/env/build_test.py has the cases.

load ../lib/common

# cases CLASS — all that is tried of it.
cases() {
	run -0 bounded 120 /usr/bin/python3 -B \
		"$BATS_TEST_DIRNAME/../env/build_test.py" "$1"
}

@test 'names, specs and variables of a build are words of their kind' {
	cases Specs
}

@test 'a line of requirements is one package with its exact version' {
	cases Requirements
}

@test 'a wheel fits the machine, the hashes asked for and the parent' {
	cases Wheels
}

@test 'a lock of npm leads to tarballs of the registry only' {
	cases Npm
}

@test 'without a network, an earlier lock says which' {
	cases Offline
}

@test 'apt resolves as if the image were installed, with a state of its own' {
	cases Debian
}

@test 'each stock recipe can be built' {
	cases Stock
}

@test 'a server asks for a build by words that are checked again' {
	cases Requests
}

@test 'the recipe of a set is checked as the command line is' {
	cases Recipes
}

@test 'what packages and tools say in a build has its form or is refused' {
	cases Said
}

@test 'what a build has started ends with it, however that ends' {
	cases Children
}

@test 'a build removes what builds have left, and nothing else' {
	cases Sources
}
