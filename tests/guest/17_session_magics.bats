#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What cells of Python have beyond Python, on the host.

bats_require_minimum_version 1.5.0
load ../lib/session

@test "cells: !command runs where it stands, with the values of names" {
	session python <<-'END'
		### cell
		x, d = 3, {"k": "v"}
		print("before")
		!echo {x + 1} $x {d["k"]} "$HOME" $$x '$x'; echo err >&2; exit 4
		print("after")
		for i in range(2):
		    !echo in loop \
		        {i}
		_exit_code
		### cell
		def f(word):
		    return !printf '%s\n' {word} "it's"
	END
	assert_line --index 0 'out: before'
	assert_line --index 1 "out: 4 3 v / \$x"
	assert_line --index 2 'out: after'
	assert_line 'out: in loop 1'
	assert_line 'err: err'
	assert_line --partial "\"text\": \"0\""
	assert_line --partial 'SyntaxError: invalid syntax'
}

@test "cells: x = !command is the lines of its output" {
	session python <<-'END'
		### cell
		def f(word):
		    found = !printf '%s\n' {word} "it's"
		    return found
		y = !echo one; echo two >&2
		(y, y.s, f("local"))
	END
	assert_line --partial "\"text\": \"(['one', 'two'], 'one two', ['local', \\\"it's\\\"])\""
	refute_line --regexp '^err'
}

@test "cells: % and ! in strings, in brackets and at an operator are Python's" {
	session python <<-'END'
		### cell
		text = """
		%cd nowhere
		!exit 1
		"""
		x = (7
		%4
		!=2)
		y = 9 \
		%5
		# it's a comment with (
		%time z = text.count("!")
		s = 'it\'s %s' % "x" + "#"  # "
		%pwd
		[x, y, z, s]
	END
	assert_line --partial '"text": "[True, 4, 1, \"it'"'"'s x#\"]"'
	assert_line --regexp '^out: Wall time: .* [nµm]?s$'
	refute_line --regexp '^err'
}

@test "cells: a cell that is Python as it stands is not touched" {
	session python <<-'END'
		### cell
		x = 5
		%(x)s
		### cell
		x = (5
		%2)
		[name for name in globals() if "magic" in name]
	END
	assert_line --partial 'UsageError: %(x)s is not there'
	assert_line --partial "\"text\": \"['__magic__']\""
	session python <<-'END'
		### cell
		x = (5
		%2)
		[name for name in globals() if "magic" in name]
	END
	assert_line --partial '"text": "[]"'
}

@test "cells: indentation before all lines is taken off" {
	session python <<-'END'
		### cell
		    if True:
		        x = """
		    text
		"""
		        1 / 0
		### cell
		  x
	END
	assert_line --partial '  File \"HOME/step.py\", line 5, in <module>\n    1 / 0\n    ~~^~~\n'
	assert_line --partial '"text": "'"'\\\\n    text\\\\n'"'"'
}

@test "cells: %cd, %pwd and %env" {
	session python <<-'END'
		### cell
		import os
		%cd /usr
		where = %pwd
		%cd -q -
		%env MARK=a b
		(where, os.getcwd() != where, os.environ["MARK"])
		### cell
		%env MARK
		### cell
		%cd /nowhere
		### cell
		%matplotlib inline
		%gui
	END
	assert_line --index 0 'out: /usr'
	assert_line --index 1 'out: env: MARK=a b'
	assert_line --partial "\"text\": \"('/usr', True, 'a b')\""
	assert_line --partial "\"text\": \"'a b'\""
	assert_line --partial '  File \"HOME/step.py (step 3)\", line 1, in <module>\n    %cd /nowhere\n'
	assert_line --partial "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'"
	refute_line --partial frozen
	assert_line --index 8 'exit: 0'
}

@test "cells: %time, %timeit and %%time measure and give the value" {
	session python <<-'END'
		### cell
		%%time
		import asyncio
		await asyncio.sleep(0)
		7
		### cell
		%time 1 / 0
		### cell
		t = %timeit -n 2 -r 2 -o -q pass
		%timeit -n1 -r1 pass
		t.loops
	END
	[ "$(grep -c '^out: CPU times: user .*, sys: .*, total: ' <<<"$output")" = 2 ] ||
		fail "$output"
	assert_line --partial '"text": "7"'
	assert_line --partial '\n    %time 1 / 0\n'
	assert_line --partial '"name": "ZeroDivisionError"'
	assert_line --partial ' per loop (mean ± std. dev. of 1 run, 1 loop each)'
	assert_line --partial '"text": "2"'
}

@test "cells: %%bash runs the cell, and its failure is an error" {
	session python <<-'END'
		### cell
		%%bash --out said
		read -r line; [[ $line ]] || echo none; echo '%pwd' "$0"
		### cell

		%%bash
		echo shown
		exit 3
		### cell
		said.split("\n")[0]
		### cell
		%%writefile note.txt
		%pwd
		### cell
		open("note.txt").read()
	END
	assert_line 'out: shown'
	assert_line --partial '"name": "CalledProcessError", "value": "Command '"'%%bash'"' returned non-zero exit status 3."'
	refute_line --partial frozen
	assert_line --partial "\"text\": \"'none'\""
	assert_line 'out: Writing note.txt'
	assert_line --partial "\"text\": \"'%pwd\\\\n'\""
}

@test "cells: a command's output is whole, however long it takes and wherever it goes" {
	session python <<-'END'
		### cell
		late = !sleep 1.2; echo late
		late
		### cell
		%%bash --err said
		seq 30000 >&2
		### cell
		said == "".join(f"{n}\n" for n in range(1, 30001))
	END
	assert_line --partial "\"text\": \"['late']\""
	assert_line --partial '"text": "True"'
}

@test "cells: an interrupt ends a command and what it has begun" {
	local long=9$BASHPID # seconds; no other test sleeps so long
	session python <<-END
		### cell int=go
		x = 1
		!(echo go; sleep $long; true); echo no
		### cell int=go2
		%%bash
		echo go2
		sleep $long
		echo no
		### cell
		x
	END
	assert_line --partial '\n    %%bash\nKeyboardInterrupt'
	refute_line --partial subprocess
	refute_line 'out: no'
	[ "$(grep -c '^exit: 130' <<<"$output")" = 2 ] || fail "$output"
	assert_line --partial '"text": "1"'
	await becomes 5 sh -c '! pgrep -f "^sleep $1\$"' - "$long"
}

@test "cells: %%capture takes what is printed and shown" {
	session python <<-'END'
		### cell
		%%capture took
		print("printed"); display(1)
		2
		### cell
		(took.stdout, len(took.outputs))
	END
	output_is 'exit: 0' \
		"result: {\"text\": \"('printed\\\\n', 2)\", \"results\": [{\"mime\": \"text/plain\", \"data\": \"('printed\\\\n', 2)\", \"bundle\": 1, \"main\": true}]}" \
		'exit: 0'
}

@test "cells: an unknown magic names those that there are" {
	session python <<-'END'
		### cell
		%nonsense
		### cell
		%%nonsense
		x
	END
	assert_line --regexp '"UsageError", "value": "%nonsense is not there; there are .*%cd, '
	assert_line --regexp '"UsageError", "value": "%%nonsense is not there; there are .*%%bash, '
}

@test "cells: wrong syntax beside a magic is at its own line" {
	session python <<-'END'
		### cell
		!true
		x = = 1
	END
	assert_line --partial '"traceback": "  File \"HOME/step.py\", line 2\n    x = = 1\n'
	assert_line --partial 'SyntaxError: invalid syntax'
	refute_line --partial 'another exception'
}

@test "cells: IPython.display shows without IPython" {
	session python <<-'END'
		### cell
		from IPython.display import (display, HTML, Image, Markdown, JSON, Latex,
		                             SVG, clear_output)
		clear_output(wait=True)
		display(HTML("<b>"), Markdown("# m"), metadata={})
		display({"text/plain": "p", "text/html": "h"}, raw=True)
		display(Latex("$x$")); display(SVG("<svg/>"))
		open("dot.png", "wb").write(b"\x89PNG dot")
		display(Image("dot.png"))
		JSON({"a": 1})
		### cell
		import IPython.core.display, IPython
		[IPython.get_ipython(), IPython.display.HTML("<i>").data, print.__name__]
	END
	local types='[.results[] | "\(.bundle) \(.mime)"]'
	local result
	result=$(sed -n 's/^result: //p' <<<"$output" | head -n 1)
	assert_equal "$(jq -r '[.results[] | select(.data != null and (.data | type == "string") and (.data | startswith("<IPython") | not)) | "\(.bundle) \(.mime) \(.data)"] | join("; ")' <<<"$result")" \
		'1 text/html <b>; 2 text/markdown # m; 3 text/plain p; 3 text/html h; 4 text/latex $x$; 5 image/svg+xml <svg/>'
	assert_equal "$(jq -r "$types | join(\" \")" <<<"$result" | grep -o '[67] [a-z/]*' | xargs)" \
		'6 image/png 6 text/plain 7 application/json 7 text/plain'
	assert_equal "$(jq -r '.results[-2] | "\(.data.a) \(.main)"' <<<"$result")" '1 true'
	assert_line --partial "\"text\": \"[<ipykernel.zmqshell.ZMQInteractiveShell object>, '<i>', 'print']\""
	refute_line --regexp '^err'
}

@test "cells: the program's own IPython goes before ours" {
	session python <<-'END'
		### cell
		open("IPython.py", "w").write("display = 'its own'")
		### cell
		import IPython
		IPython.display
	END
	assert_line --partial "\"text\": \"'its own'\""
}

@test "cells: a real IPython without a shell shows as well" {
	session python <<-'END'
		### cell
		import os
		os.mkdir("IPython")
		open("IPython/__init__.py", "w").write("def get_ipython(): pass\n")
		open("IPython/display.py", "w").write("def display(*a, **k): print('plain', a)\n")
		### cell
		from IPython.display import display as show
		show({"text/html": "<b>"}, raw=True)
		### session
		show(1)
	END
	assert_line --partial '"results": [{"mime": "text/html", "data": "<b>", "bundle": 1, "main": false}]'
	assert_line "out: plain (1,)"
}

@test "cells: a figure of plotly shows where show() is called" {
	session python <<-'END'
		### cell
		import os
		os.mkdir("plotly"); open("plotly/__init__.py", "w").close()
		open("plotly/io.py", "w").write("def show(fig): raise SystemExit('a browser')\n")
		open("plotly/express.py", "w").write("""
		class Figure:
		    def show(self):
		        import plotly.io as pio
		        pio.show(self)
		    def __repr__(self): return "figure"
		    def _repr_html_(self): return "<svg>"
		    def _ipython_display_(self): self.show()
		""".replace("\n\t\t", "\n"))
		### cell
		import plotly.express as px
		px.Figure().show()
		display(px.Figure())
		### session
		px.Figure().show()
	END
	assert_line --partial '"results": [{"mime": "text/html", "data": "<svg>", "bundle": 1, "main": false}, {"mime": "text/plain", "data": "figure", "bundle": 1, "main": false}, {"mime": "text/html", "data": "<svg>", "bundle": 2,'
	assert_line 'err: a browser'
}

@test "cells: lists and dictionaries are JSON too, if JSON can hold them" {
	session python <<-'END'
		### cell
		{"a": [1, 2.5, None, True, {"b": "c"}]}
		### cell
		{1: 2}
		### cell
		[1.5, float("nan"), {"most": float("-inf")}]
		### cell
		[2 ** 63]
		### cell
		deep = []
		for i in range(100): deep = [deep]
		deep
		### cell
		loop = []; loop.append(loop); loop
		### cell
		class Own(dict): pass
		[Own()]
		### cell
		["x" * 70000]
	END
	assert_equal "$(grep -c '"application/json", "data"' <<<"$output")" 2
	assert_line --partial '"data": [1.5, null, {"most": null}]'
	assert_line --partial '{"mime": "application/json", "data": {"a": [1, 2.5, null, true, {"b": "c"}]}, "bundle": 1, "main": true}'
	assert_line --partial '{"mime": "application/json", "path": "results/1.json", "bundle": 1, "main": true}'
	assert_equal "$(grep -c '^exit: 0' <<<"$output")" 8
}

@test "cells: an image of PIL shows where show() and save() are called" {
	session python <<-'END'
		### cell
		import os, sys, types
		os.mkdir("PIL"); open("PIL/__init__.py", "w").close()
		open("PIL/Image.py", "w").write('''
		class Image:
		    def __repr__(self): return "image"
		    def show(self): raise SystemExit("a window")
		    def save(self, file, format=None): open(file, "w").write("saved")
		    def _repr_png_(self): return b"picture"
		''')
		### cell
		from PIL import Image
		Image.Image().show()
		Image.Image().save("a.png")
		open("a.png").read()
		### session
		Image.Image().save("b.png")
	END
	local picture='{"mime": "image/png", "base64": "cGljdHVyZQ==", "bundle":'
	assert_line --partial "$picture 1, \"main\": false}, {\"mime\": \"text/plain\", \"data\": \"image\", \"bundle\": 1, \"main\": false}, $picture 2,"
	assert_line --partial "\"text\": \"'saved'\""
	assert_equal "$(grep -c '^exit: 0' <<<"$output")" 3
}

@test "cells: get_ipython() is the notebook, whoever asks for it and by whatever name" {
	session python <<-'END'
		### cell
		open("asks.py", "w").write("""
		def kind():
		    return type(get_ipython()).__name__, __IPYTHON__
		""".replace("\n\t\t", "\n"))
		get_ipython().run_line_magic("matplotlib", "inline")
		get_ipython().system("echo from the shell")
		word = "w"
		lines = get_ipython().getoutput("printf 'a\\nb\\n'; echo {word}")
		get_ipython().run_cell_magic("bash", "--out said", "echo in bash")
		result = get_ipython().run_cell("inner = 5\ninner + 1")
		lines, said, result.result, result.success
		### cell
		import asks, IPython
		from IPython import get_ipython as of_module
		from IPython.core.interactiveshell import InteractiveShell
		from IPython.core.getipython import get_ipython as of_core
		shell = get_ipython()
		(asks.kind(), of_module() is of_core() is InteractiveShell.instance() is shell,
		 isinstance(shell, InteractiveShell), "zmq" in str(type(shell)).lower(),
		 "IPKernelApp" in shell.config, hasattr(shell, "kernel"),
		 IPython.version_info >= (8, 24))
		### cell
		shell.push({"pushed": 1}); shell.ex("made = pushed + 1")
		made, shell.user_ns["made"], shell.ev("made * 2"), shell.execution_count
	END
	assert_line 'out: from the shell'
	assert_line --partial "\"text\": \"(['a', 'b', 'w'], 'in bash\\\\n', 6, True)\""
	assert_line --partial "\"text\": \"(('ZMQInteractiveShell', True), True, True, True, True, True, True)\""
	assert_line --partial '"text": "(2, 2, 4, 4)"'
	refute_line --regexp '^err'
}

@test "cells: a plain step knows of no notebook" {
	session python <<-'END'
		### session
		try: get_ipython()
		except NameError: print("none")
	END
	output_is 'out: none' 'exit: 0'
}

@test "cells: the program's own magics, events and ways to show a type" {
	session python <<-'END'
		### cell
		from IPython.core.magic import (register_line_magic, register_cell_magic,
		    Magics, magics_class, line_magic, needs_local_scope)
		@register_line_magic
		def double(line): return 2 * int(line)
		@register_cell_magic
		def shout(line, cell): print(line, cell.upper().strip())
		@magics_class
		class Own(Magics):
		    @line_magic
		    @needs_local_scope
		    def see(self, line, local_ns): return local_ns[line]
		get_ipython().register_magics(Own)
		get_ipython().events.register("pre_run_cell", lambda info: print("before"))
		get_ipython().events.register("post_execute", lambda: print("after"))
		n = 4
		### cell
		a = %double {n}
		b = %see n
		a + b
		### cell
		%%shout loud
		word
		### cell
		class Point: pass
		texts = get_ipython().display_formatter.formatters
		texts["text/html"].for_type(Point, lambda point: "<p>")
		texts["text/plain"].for_type(Point, lambda point, p, cycle: p.text("a point"))
		Point()
		### cell
		open("more.py", "w").write("def load_ipython_extension(shell): shell.push({'loaded': 1})")
		%load_ext more
		loaded
		### cell
		%load_ext storemagic
		### cell
		%load_ext nowhere
	END
	assert_line --partial '"text": "12"'
	assert_line 'out: loud WORD'
	assert_equal "$(grep -c '^out: before' <<<"$output")" 6
	assert_equal "$(grep -c '^out: after' <<<"$output")" 7
	assert_line --partial '"results": [{"mime": "text/html", "data": "<p>", "bundle": 1, "main": true}, {"mime": "text/plain", "data": "a point"'
	assert_line --partial '"text": "1"'
	assert_line --partial '"name": "ModuleNotFoundError", "value": "No module named '"'nowhere'"
	assert_line --partial "No module named 'storemagic'"
}

@test "cells: In and Out, and _ until the program has its own" {
	session python <<-'END'
		### cell
		6 * 7
		### cell
		(Out[1], _1, _, In[1])
		### cell
		None
		### cell
		"kept back";
		### cell
		_, __, _i1, _ii, sorted(Out)
		### cell
		_ = 5
		### cell
		7
		### cell
		_, Out[7]
		### cell
		%history -n 1-2
		%reset out
		Out
	END
	assert_line --partial "\"text\": \"(42, 42, 42, '6 * 7')\""
	assert_line --partial "\"text\": \"((42, 42, 42, '6 * 7'), 42, '6 * 7', 'None', [1, 2])\""
	assert_line --partial '"text": "(5, 7)"'
	assert_line 'out:    1: 6 * 7'
	assert_line 'out:    2: (Out[1], _1, _, In[1])'
	assert_line --partial '"text": "{}"'
}

@test "cells: help is shown" {
	session python <<-'END'
		### cell
		len?
		### cell
		def own(a, b=1):
		    "what it does"
		    return a
		number = 5
		### cell
		own?
		own??
		?number
		### cell
		absent?
		%time?
		%%capture?
		nothing = None
		nothing?
		@get_ipython().register_magic_function
		def shout(line): "tells it loudly"
		%shout?
		str.is*id*?
	END
	assert_line 'out: Signature: len(obj, /)'
	assert_line 'out: Docstring: Return the number of items in a container.'
	assert_line 'out: Signature: own(a, b=1)'
	assert_line 'out: Docstring: what it does'
	assert_line 'out:     return a'
	assert_line 'out: Type: int'
	assert_line 'out: Object `absent` not found.'
	assert_line 'out: %time is a magic of cells; jobtree(5) says what each does.'
	assert_line 'out: %%capture is a magic of cells; jobtree(5) says what each does.'
	assert_line 'out: String form: None'
	assert_line 'out: Docstring: tells it loudly'
	refute_line --partial frozen
	assert_line 'out: str.isidentifier'
	assert_equal "$(grep -c '^exit: 0' <<<"$output")" 4
}

@test "cells: %run runs a program in its own place, and leaves its names" {
	session python <<-'END'
		### cell
		import os, sys
		os.mkdir("jobs")
		open("jobs/rates.py", "w").write("RATE = 21")
		open("jobs/report.py", "w").write("""
		import os, sys
		import rates
		here = os.path.basename(os.path.dirname(os.path.abspath(__file__)))
		total = rates.RATE * 2
		def again(): return total
		if __name__ == "__main__":
		    print(here, sys.argv[1:], total, sys.modules["__main__"].__dict__ is globals())
		""".replace("\n\t\t", "\n"))
		### cell
		before = sys.argv, sys.path[:], __file__
		%run jobs/report.py 2026
		total, again(), before == (sys.argv, sys.path, __file__)
		### cell
		open("fails.py", "w").write("left = 1\nraise ValueError('here')")
		%run fails
		### cell
		open("inside.py", "w").write("left += total; name = os.path.basename(__file__)")
		own = __file__
		%run -i inside.py
		left, name, own == __file__
		### cell
		open("a.ipynb", "w").write('{"cells": [{"cell_type": "markdown", "source": ["#"]}, {"cell_type": "code", "source": ["x = 9\\n", "!echo $x"]}]}')
		%run a.ipynb
		### cell
		open("tool.py", "w").write("import sys; print(sys.argv, __name__); made = 3; sys.exit(0)")
		%run -m tool one *.py
		%run -t tool.py job*
		%run -G tool.py job*
		print("goes on", sys.argv == before[0])
		### cell
		open("wrong.py", "w").write("import sys; sys.exit(4)")
		%run -e wrong.py
		%run -m -e wrong
		print("no error")
		%run -m wrong
		### cell
		%run -p inside.py
	END
	assert_line "out: jobs ['2026'] 42 True"
	assert_line --partial '"text": "(42, 42, True)"'
	assert_line --partial '\"HOME/fails.py\", line 2, in <module>'
	refute_line --partial frozen
	assert_line --partial "\"text\": \"(43, 'inside.py', True)\""
	assert_line 'out: 9'
	assert_line --regexp "^out: \['[^']*/tool.py', 'one', 'fails.py', .*'tool.py'\] __main__\$"
	assert_line "out: ['tool.py', 'jobs'] __main__"
	assert_line --regexp '^out: Wall time: '
	assert_line "out: ['tool.py', 'job*'] __main__"
	assert_line 'out: goes on True'
	assert_line 'out: no error'
	assert_line 'exit: 4'
	assert_line --partial '"value": "%run has no -p; it has -e, -G, -i, -m, -n, -t"'
}

@test "cells: %autoreload 2 brings what a written module has into all that hold it" {
	session python <<-'END'
		### cell
		%load_ext autoreload
		%autoreload 2
		text = """
		LIMIT = %d
		def rate(): return LIMIT
		class Box:
		    kind = %d
		    def size(self): return LIMIT
		"""
		def write(n): open("rates.py", "w").write((text % (n, n)).replace("\n\t\t", "\n"))
		write(1)
		import rates
		from rates import rate, Box
		box = Box()
		print(rates.rate())
		### cell
		write(2000)
		### cell
		print(rates.rate(), rate(), box.size(), box.kind, Box().size(), isinstance(box, rates.Box))
		### cell
		open("rates.py", "w").write("def")
		### cell
		print(rate())
		### cell
		write(3)
		### cell
		%autoreload 0
		write(4)
		### cell
		print(rate())
		### cell
		%autoreload 1
		import rates
		open("other.py", "w").write("X = 1")
		%aimport other
		### cell
		write(5); open("other.py", "w").write("X = 22")
		### cell
		print(rate(), other.X)
		%autoreload
		print(rate())
		%autoreload 9
	END
	assert_line 'out: 1'
	assert_line 'out: 2000 2000 2000 2000 2000 True'
	assert_line 'err: [autoreload of rates failed:   File "HOME/rates.py", line 1'
	assert_line 'out: 2000'
	assert_line 'out: 3'
	assert_line 'out: 3 22'
	assert_line 'out: 5'
	assert_line --partial 'UsageError: %autoreload 9 is not there'
}

@test "cells: %autoreload 2 reaches decorated functions and a package's modules by any name" {
	session python <<-'END'
		### cell
		import os, pickle
		text = """
		import functools
		def twice(f):
		    @functools.wraps(f)
		    def both(): return f() * 2
		    return both
		def bare(f): return lambda: f()
		@twice
		def a(): return %d
		@functools.lru_cache
		def b(): return %d
		@bare
		def c(): return %d
		class Kept:
		    @twice
		    def size(self=None): return %d
		one = Kept()
		"""
		def write(n): open("shop/deep/rates.py", "w").write((text % (n, n, n, n)).replace("\n\t\t", "\n"))
		os.makedirs("shop/deep")
		open("shop/__init__.py", "w").write("from .deep.rates import a as whole")
		open("shop/deep/__init__.py", "w").close()
		write(1)
		%load_ext autoreload
		%autoreload 2
		import shop
		from shop.deep import rates
		from shop.deep.rates import a, b, c, Kept, one as mine
		mine.mark = "mine"
		def all(): return shop.whole(), rates.a(), a(), b(), c(), Kept.size()
		all()
		### cell
		write(2000)
		### cell
		all(), a is rates.a, pickle.loads(pickle.dumps(Kept)) is Kept, mine.mark
	END
	assert_line --partial '"text": "(2, 2, 2, 1, 1, 2)"'
	assert_line --partial "\"text\": \"((4000, 4000, 4000, 2000, 2000, 4000), True, True, 'mine')\""
}

@test "cells: %who, %whos and %reset" {
	session python <<-'END'
		### cell
		number, words, _hidden = 5, ["a"], 1
		### cell
		%who
		%whos int
		names = %who_ls list
		names
		### cell
		%reset
		### cell
		%reset -f
		%who
		_hidden
	END
	assert_line --regexp '^out: number.*words'
	assert_line --regexp '^out: number +int +5$'
	assert_line --partial "\"text\": \"['words']\""
	assert_line --partial 'UsageError: %reset would ask'
	assert_line 'out: Interactive namespace is empty.'
}

@test "cells: a notebook of twenty cells runs as it was written for Jupyter" {
	session python <<-'END'
		### cell
		%matplotlib inline
		%load_ext autoreload
		%autoreload 2
		%config InlineBackend.figure_format = 'retina'
		import os, sys, json, math
		### cell
		!pip install --quiet numpy 2>/dev/null || true
		%pip --version
		### cell
		%%writefile helpers.py
		def area(r):
		    """The area of a circle."""
		    return 3 * r * r
		### cell
		from helpers import area
		area(2)
		### cell
		%%writefile helpers.py
		import math
		def area(r):
		    """The area of a circle."""
		    return round(math.pi * r * r, 2)
		### cell
		area(2)
		### cell
		%%time
		total = sum(range(1000))
		### cell
		%timeit -n 1 -r 1 sum(range(10))
		### cell
		%%bash
		mkdir -p data
		printf 'name,value\na,1\nb,2\n' > data/table.csv
		### cell
		files = !ls data
		files
		### cell
		!head -n 1 data/{files[0]}
		### cell
		import csv
		rows = list(csv.DictReader(open("data/table.csv")))
		rows
		### cell
		%%capture out
		print("hidden")
		### cell
		print(out.stdout.strip(), _12 is rows)
		### cell
		from IPython.display import display, HTML, Markdown
		display(HTML("<table>")); display(Markdown("**bold**"))
		### cell
		area?
		### cell
		async def soon(): return "soon"
		await soon()
		### cell
		1 / 0
		### cell
		%who_ls int
		### cell
		get_ipython().run_line_magic("env", "MODE=test")
		os.environ["MODE"], In[4].splitlines()[1], Out[4], len(In)
	END
	assert_line --partial '"text": "12"'
	assert_line --partial '"text": "12.57"'
	assert_line --partial "\"text\": \"['table.csv']\""
	assert_line 'out: name,value'
	assert_line --partial '{"mime": "application/json", "data": [{"name": "a", "value": "1"}'
	assert_line 'out: hidden True'
	assert_line --partial '"mime": "text/html", "data": "<table>"'
	assert_line 'out: Docstring: The area of a circle.'
	assert_line --partial "\"text\": \"'soon'\""
	assert_line --partial '"value": "division by zero"'
	assert_line --partial "\"text\": \"['total']\""
	assert_line --partial "\"text\": \"('test', 'area(2)', 12, 21)\""
	assert_equal "$(grep -c '^exit: 0' <<<"$output")" 19
}

@test "cells: what pip has installed for the user is found at once" {
	session python <<-'END'
		### cell
		import os, site
		site.USER_SITE = os.path.abspath("mine")
		!mkdir mine; echo 'x = 5' >mine/fsd_fresh.py
		try: import fsd_fresh
		except ImportError: print("not there")
		!: pip install fsd_fresh
		import fsd_fresh
		print(fsd_fresh.x)
	END
	assert_line 'out: not there'
	assert_line 'out: 5'
}
