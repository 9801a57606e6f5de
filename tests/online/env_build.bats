#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# `fsd env build` with packages of the registries, on real machines. No part of
# `make check`: it needs a network and minutes.

# shellcheck disable=SC2154 # run sets stderr

load ../lib/qemu

setup_file() {
	file_given
	export FSD_IMAGE=$IMAGE FSD_ENVIRONMENTS=$BATS_FILE_TMPDIR/env
}

@test 'numpy, pandas, polars, pydantic and opencv come as wheels' {
	bounded 3600 "$FSD" env build wheels --pypi numpy==2.2.4 \
		--pypi pandas==2.2.3 --pypi polars==1.27.1 \
		--pypi pydantic==2.11.3 --pypi opencv-python-headless==4.11.0.86 \
		--env OPENBLAS_NUM_THREADS=1 --warm numpy,pandas,pydantic
	run -0 bounded 60 "$FSD" env show wheels
	[[ $output == *opencv-python-headless* ]]
}

@test 'the stock environment web has lodash, axios and zod' {
	bounded 3600 "$FSD" env build --stock web
	run -0 bounded 60 "$FSD" env list
	[[ $output == *web* ]]
}
