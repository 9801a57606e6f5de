#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Figures of matplotlib and tables of pandas in cells, on the host.

bats_require_minimum_version 1.5.0
load ../lib/session

setup() {
	cd "$TESTS/.." || return
	/usr/bin/python3 -c 'import matplotlib, pandas' 2>/dev/null ||
		need 'matplotlib or pandas is not there'
	export MPLCONFIGDIR=$BATS_TEST_TMPDIR
}

# of N JQ — what jq finds in the N-th result that was said.
of() {
	sed -n 's/^result: //p' <<<"$output" | sed -n "$1p" | jq -c "$2"
}

chart='.results[] | select(.mime == "application/vnd.fsd.chart+json") | .data'

@test "figures: each kind of chart is told as data, where it is shown" {
	session python <<-'END'
		### cell
		import datetime
		import matplotlib.pyplot as plt
		day = datetime.datetime(2023, 9, 1)
		plt.plot([day, day + datetime.timedelta(1)], [1, 2], label="rise")
		plt.xlabel("Time (s)"); plt.title("Line"); plt.grid(True)
		plt.show()
		plt.scatter([1, 2], [3, 4], label="points"); plt.show()
		plt.bar(["a", "b"], [3, 4], label="sold"); plt.show()
		plt.barh(["a", "b"], [3, 4]); plt.xlabel("n"); plt.show()
		plt.pie([90, 10], labels=["No", "Yes"]); plt.show()
		plt.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]],
		            patch_artist=True)
		plt.show()
		figure, axes = plt.subplots(1, 2)
		figure.suptitle("Both")
		axes[0].plot([1, 2], ["A", "B"]); axes[1].scatter([1], [2])
		plt.show()
		plt.gca().add_artist(plt.Circle((0, 0), 1)); plt.show()
		plt.figure(); plt.show()
	END
	refute_line --regexp '^err'
	assert_equal "$(of 1 "[$chart.type] | join(\" \")")" \
		'"line scatter bar bar pie box_and_whisker superchart unknown"'
	assert_equal "$(of 1 '[.results[] | select(.mime == "image/png").bundle] | length')" 9
	assert_equal "$(of 1 "[$chart][0] | [.title, .x_label, .x_unit, .y_label, .x_scale, .y_scale, .elements[0].label, .elements[0].points[1]]")" \
		'["Line","Time (s)","s",null,"datetime","linear","rise",["2023-09-02T00:00:00",2]]'
	assert_equal "$(of 1 "[$chart][1].elements")" \
		'[{"label":"points","points":[[1,3],[2,4]]}]'
	assert_equal "$(of 1 "[$chart][2].elements")" \
		'[{"label":"a","group":"sold","value":3},{"label":"b","group":"sold","value":4}]'
	assert_equal "$(of 1 "[$chart][3] | [.y_label, .elements[1].value]")" '["n",4]'
	assert_equal "$(of 1 "[$chart][4].elements[0]")" \
		'{"label":"No","angle":324,"radius":1}'
	assert_equal "$(of 1 "[$chart][5].elements[1] | [.min, .first_quartile, .median, .third_quartile, .max, .outliers]")" \
		'[84,84.75,88,90.5,95,[76]]'
	assert_equal "$(of 1 "[$chart][6] | [.title, .elements[0].y_scale, .elements[0].x_scale, .elements[1].type]")" \
		'["Both","categorical","linear","scatter"]'
}

@test "figures: a figure is shown once, and carries its text" {
	session python <<-'END'
		### cell
		import matplotlib.pyplot as plt
		figure, axes = plt.subplots()
		axes.plot([1, float("nan")])
		figure
		### cell
		plt.plot([1, 2])
		### cell
		plt.get_fignums()
	END
	assert_equal "$(of 1 '[.results[] | "\(.bundle) \(.mime) \(.main)"] | join("; ")')" \
		'"1 image/png true; 1 application/vnd.fsd.chart+json true; 1 text/plain true"'
	assert_equal "$(of 1 "$chart.elements[0].points")" '[[0,1],[1,null]]'
	assert_equal "$(of 1 .text)" '"<Figure size 640x480 with 1 Axes>"'
	assert_equal "$(of 2 '[.results[] | "\(.bundle) \(.mime)"] | join("; ")')" \
		'"1 text/plain; 2 image/png; 2 application/vnd.fsd.chart+json; 2 text/plain"'
	assert_line --partial '"text": "[]"'
}

@test "tables: a DataFrame is its columns as well" {
	session python <<-'END'
		### cell
		import pandas as pd
		pd.DataFrame({"n": [1, None], "t": pd.to_datetime(["2020-01-02", None]),
		              3: [(1, 2), {"a": [1]}], "s": ["x", b"y"]})
		### cell
		pd.DataFrame({"wide": range(250001)})
		### cell
		pd.DataFrame([[1, 2, 3, 4, [1.5, float("nan")]], [5, 6, 7, 8, {"x": float("inf")}]],
		             columns=["a", "a", "a.1", "a", 0])
	END
	assert_equal "$(of 1 '.results[] | select(.mime == "application/vnd.fsd.data+json") | .data')" \
		'{"n":[1,null],"t":["2020-01-02T00:00:00",null],"3":["(1, 2)",{"a":[1]}],"s":["x","b'"'y'"'"]}'
	assert_equal "$(of 1 '[.results[].mime] | join(" ")')" \
		'"text/html application/vnd.fsd.data+json text/plain"'
	assert_equal "$(of 2 '[.results[].mime] | join(" ")')" '"text/html text/plain"'
	assert_equal "$(of 3 '.results[] | select(.mime == "application/vnd.fsd.data+json") | .data')" \
		'{"a":[1,5],"a.2":[2,6],"a.1":[3,7],"a.3":[4,8],"0":[[1.5,null],{"x":null}]}'
}

@test "figures: in three dimensions the points are the program's, drawn or not" {
	session python <<-'END'
		### cell
		import matplotlib.pyplot as plt
		axes = plt.figure().add_subplot(projection="3d")
		axes.scatter([0, 1], [10, 20], [5, 6]); plt.gcf().canvas.draw(); plt.show()
		axes = plt.figure().add_subplot(projection="3d")
		axes.plot([0, 1], [10, 20], [5, 6]); plt.show()
	END
	assert_equal "$(of 1 "[$chart | [.type, .elements[0].points]]")" \
		'[["scatter",[[0,10,5],[1,20,6]]],["line",[[0,10,5],[1,20,6]]]]'
}

@test "figures: %config and set_matplotlib_formats() say as what they are shown" {
	session python <<-'END'
		### cell
		%config InlineBackend.figure_format = 'svg'
		import matplotlib.pyplot as plt
		plt.plot([1, 2]);
		### cell
		from matplotlib_inline.backend_inline import set_matplotlib_formats
		set_matplotlib_formats("png", "pdf")
		plt.plot([1, 2]);
	END
	assert_equal "$(of 1 '[.results[].mime] | join(" ")')" \
		'"image/svg+xml application/vnd.fsd.chart+json text/plain"'
	assert_equal "$(of 2 '[.results[].mime] | sort | join(" ")')" \
		'"application/pdf application/vnd.fsd.chart+json image/png text/plain"'
}

@test "tables: a cell prints all columns, as a notebook does, and a plain step does not" {
	session python <<-'END'
		### session
		import pandas as pd
		table = pd.DataFrame({f"column{n}": [n] for n in range(12)})
		print("..." in repr(table))
		### cell
		print("..." in repr(table), "column11" in repr(table))
	END
	output_is 'out: True' 'exit: 0' 'out: False True' 'exit: 0'
}
