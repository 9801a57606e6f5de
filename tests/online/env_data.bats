#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The stock environment data on real machines. It needs Debian's archive and, on two
# processors, ten minutes of them.

# shellcheck disable=SC2154 # run sets stderr

load ../lib/qemu

setup_file() {
	file_given
	export FSD_IMAGE=$IMAGE FSD_ENVIRONMENTS=$BATS_FILE_TMPDIR/env
	# What was exported before saves the build.
	[ -z "${FSD_TEST_DATA:-}" ] || "$FSD" env import --name data "$FSD_TEST_DATA"
}

@test 'the stock environment data is built, and is as large as it may be' {
	[ -n "${FSD_TEST_DATA:-}" ] || bounded 3600 "$FSD" env build --stock data
	"$FSD" env verify data
	bounded 300 "$FSD" env export data "$BATS_FILE_TMPDIR/data.env"
	assert [ "$(stat -c %s "$BATS_FILE_TMPDIR/data.env")" -le 160000000 ]
}

@test 'each library of data does a small task, from what was exported' {
	cd "$BATS_TEST_TMPDIR"
	export FSD_ENVIRONMENTS=$BATS_TEST_TMPDIR/env
	"$FSD" env import "$BATS_FILE_TMPDIR/data.env"
	run --separate-stderr -0 bounded 1800 "$FSD" run --timeout 1200 \
		--environment data "$TESTS/online/libraries.py"
	assert_output '17 tried, 0 failed'
}

@test 'a cell gives a DataFrame as HTML and a figure as PNG' {
	cd "$BATS_TEST_TMPDIR"
	MOUNT_OPTIONS="$MOUNT_OPTIONS --environments $FSD_ENVIRONMENTS --pool 0 --default-environment data"
	STATE=$BATS_TEST_TMPDIR/state mount_start
	job_made code.py <<-'END'
		import matplotlib.pyplot as plt
		import pandas as pd
		plt.plot([1, 2, 3])
		plt.show()
		pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
	END
	job_put "$J" config.json '{"session": "s", "mode": "cell"}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	assert_equal "$(result "$J" '[.results[].mime] | join(" ")')" \
		'image/png application/vnd.fsd.chart+json text/plain text/html application/vnd.fsd.data+json text/plain'
	[[ $(result "$J" '.results[3].data') == *'<table border="1" class="dataframe">'* ]]
	result "$J" '.results[0].base64' | base64 -d >figure.png
	[ "$(head -c 4 figure.png | od -An -c | tr -d ' ')" = '211PNG' ]
	mount_stop
}
