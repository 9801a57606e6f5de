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

@test 'a job imports them' {
	cd "$BATS_TEST_TMPDIR"
	cat >code.py <<-'END'
		import cv2, numpy, pandas, polars, pydantic
		print(cv2.resize(numpy.zeros((4, 4), "uint8"), (2, 2)).shape,
		      pandas.DataFrame({"a": [1, 2]}).sum()["a"],
		      polars.DataFrame({"a": [1, 2]}).sum().item(), pydantic.VERSION)
	END
	run --separate-stderr -0 bounded 900 "$FSD" run --timeout 600 --environment wheels code.py
	assert_output '(2, 2) 3 3 2.11.3'
}

@test 'the stock environment web has lodash, axios and zod' {
	bounded 3600 "$FSD" env build --stock web
	cd "$BATS_TEST_TMPDIR"
	cat >code.mjs <<-'END'
		import axios from 'axios';
		import dayjs from 'dayjs';
		import _ from 'lodash';
		import { v4 } from 'uuid';
		import { z } from 'zod';
		console.log(typeof axios.get, dayjs('2025-01-02').year(),
			_.chunk([1, 2, 3], 2).length, v4().length, z.string().parse('s'));
	END
	run --separate-stderr -0 bounded 900 "$FSD" run --timeout 600 --environment web code.mjs
	assert_output 'function 2025 2 36 s'
}

@test 'what is in sources/ makes the same again, without a network' {
	local id
	id=$(readlink "$FSD_ENVIRONMENTS/names/web")
	"$FSD" env show web | sed -n 's/^  fsd env build web //p' >"$BATS_TEST_TMPDIR/words"
	# shellcheck disable=SC2046 # they are words
	bounded 3600 "$FSD" env build again --offline \
		$(cat "$BATS_TEST_TMPDIR/words")
	assert_equal "$(readlink "$FSD_ENVIRONMENTS/names/again")" "$id"
}

@test 'sources become a wheel in the builder, and reach nothing from there' {
	bounded 3600 "$FSD" env build --stock builder
	/usr/bin/python3 -B "$TESTS/env/make_packages.py" "$BATS_TEST_TMPDIR/made"
	bounded 3600 "$FSD" env build compiled --sdist --pypi tinyc==1.0 \
		--wheelhouse "$BATS_TEST_TMPDIR/made/sdists" --warm tinyc
	cd "$BATS_TEST_TMPDIR"
	echo 'import tinyc; print(tinyc.answer)' >code.py
	run --separate-stderr -0 bounded 900 "$FSD" run --timeout 600 --environment compiled code.py
	assert_output 46
}
