/* SPDX-License-Identifier: Apache-2.0 */
/* What submit makes of a job's files: missing, open, wrong or ready; and which close
 * is the last one. */
#include <errno.h>
#include <fcntl.h>

#include "fsd/submit/submit_int.h"
#include "fsd/submit/submit_state.h"
#include "tests/unit/fsd/job_fixture.h"
#include "tests/unit/tap.h"

static const struct job_watcher *const watchers[] = { &submit_watcher, NULL };

static struct job *job;

/* As an open file of a writer that has written all. */
static struct node *put(const char *name, const char *text)
{
	struct node *node = node_find(job->files, name);
	int fd = -1;

	if (node)
		fd = node_open(node, O_WRONLY | O_TRUNC);
	else
		fixture_must(node_make_file(job->files, name, 0644,
					    O_WRONLY | O_CREAT, &node, &fd) == 0,
			     "no file");
	node_writer_begin(node);
	fixture_must(write(fd, text, strlen(text)) == (ssize_t)strlen(text),
		     "no room");
	node_changed(node);
	close(fd);
	return node;
}

static struct node *put_closed(const char *name, const char *text)
{
	struct node *node = put(name, text);

	node_writer_end(node);
	return node;
}

static char sentence[sizeof(((struct err *)NULL)->text)];

static enum verdict look(bool by_ctl, struct node *closing)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v = submit_examine_contents(job, by_ctl, closing, &spec, &err);

	strcpy(sentence, err.text);
	run_spec_done(&spec);
	return v;
}

static void drop(const char *name)
{
	fixture_must(node_unlink(node_find(job->files, name)) == 0, "it stays");
}

static void test_parts(void)
{
	struct node *node;

	is_int(look(false, NULL), ABSENT, "without a config a job waits");
	put_closed("code.py", "print(1)\n");
	is_int(look(false, NULL), ABSENT, "a program alone waits for the config");
	is_int(look(true, NULL), READY, "but ctl starts it");
	node = put("config.json", "{}");
	is_int(look(false, NULL), OPEN, "a config that is written to is open");
	is_int(look(false, node), READY, "but for the close of its last handle");
	node_writer_begin(node);
	is_int(look(false, node), OPEN, "which another handle prevents");
	node_writer_end(node);
	node_writer_end(node);
	is_int(look(false, NULL), READY, "both parts are there and closed");
	node = node_find(job->files, "code.py");
	node_writer_begin(node);
	is_int(look(false, NULL), OPEN, "a program that is written to is open");
	node_writer_end(node);
	drop("code.py");
	is_int(look(false, NULL), ABSENT, "a config waits for its program");
}

static void test_config(void)
{
	static const struct {
		const char *text;
		enum verdict v;
		const char *part;
		const char *what;
	} cases[] = {
		{ "{", WRONG, "config.json", "half a text is wrong once closed" },
		{ "{\"timeout\": -1}", WRONG, "timeout", "a value out of range" },
		{ "{\"main\": \"gone.py\"}", WRONG, "main",
		  "a main beside another program" },
		{ "{\"code\": \"1\"}", WRONG, "code", "code beside a file" },
		{ "{\"inputs\": [\"data.csv\"]}", ABSENT, "",
		  "an input that has not come" },
		{ "{\"start\": \"manual\"}", HELD, "",
		  "a start by hand is held" },
		{ "", READY, "", "an empty config counts as {}" },
		{ "{\"environment\": \"none-such\"}", WRONG, "none-such",
		  "an environment that is not there" },
	};

	put_closed("code.py", "print(1)\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put_closed("config.json", cases[i].text);
		is_int(look(false, NULL), (int)cases[i].v, "%s", cases[i].what);
		ok(strstr(sentence, cases[i].part), "the sentence says so: %s",
		   sentence);
	}
	put_closed("config.json", "{\"inputs\": [\"data.csv\"]}");
	put_closed("data.csv", "1\n");
	is_int(look(false, NULL), READY, "an input that has come");
	put_closed("code.js", "1\n");
	is_int(look(false, NULL), WRONG, "two programs are one too many");
	ok(strstr(sentence, "code.py") && strstr(sentence, "code.js"),
	   "and both are named");
	drop("code.js");
	put_closed("config.json", "{\"mode\": \"command\", \"command\": [\"ls\"]}");
	is_int(look(false, NULL), WRONG, "a command has no program");
	drop("code.py");
	is_int(look(false, NULL), READY, "and is ready without");
	drop("config.json");
	drop("data.csv");
}

/* Asks as close(2) does, and keeps the verdict. */
static void close_asks(struct node *closing)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };

	is_int(submit_examine_contents(job, false, closing, &spec, &err), READY,
	       "the close completes the job");
	submit_keep_ready(job, closing, &spec);
	ok(!spec.parsed, "the verdict is given away");
	ok(job->submit.examined, "and kept with the job");
}

static void test_kept(void)
{
	const struct job_config session = { .session = (char[]){ "s" } };
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	struct parsed_config *before;
	struct node *config, *code = put_closed("code.py", "print(1)\n");

	config = put("config.json", "{\"timeout\": 3}");
	close_asks(config);
	before = job->submit.examined ? job->config.parsed : NULL;
	is_int(look(false, NULL), OPEN, "before the release it does not hold");
	close_asks(config);
	node_writer_end(config);
	is_int(submit_examine_contents(job, false, NULL, &spec, &err), READY,
	       "after the release it does");
	ok(spec.parsed == before && spec.code == code && spec.lang,
	   "with config, program and language");
	ok(!job->submit.examined, "and is taken over once");
	run_spec_done(&spec);

	config = put("config.json", "{\"timeout\": 3}");
	close_asks(config);
	node_writer_end(config);
	put_closed("code.js", "1\n");
	is_int(look(false, NULL), WRONG, "a new file ends it");
	drop("code.js");

	config = put("config.json", "{\"timeout\": 3}");
	close_asks(config);
	node_writer_end(config);
	node_writer_begin(code);
	is_int(look(false, NULL), OPEN, "a new writer ends it");
	node_writer_end(code);

	config = put("config.json", "{\"timeout\": 3}");
	close_asks(config);
	node_writer_end(config);
	put_closed("code.py", "print(2)\n");
	is_int(look(false, NULL), READY, "changed contents are examined anew");

	spec = (struct run_spec){ .config = &session };
	submit_keep_ready(job, code, &spec);
	ok(!job->submit.examined,
	   "a step of a session may lose its place: nothing is kept");
	config = put("config.json", "{}");
	close_asks(config);
	node_writer_end(config);
	submit_after_release(job);
	ok(!job->submit.examined, "a release that starts nothing drops it");

	config = put("config.json", "{}");
	close_asks(config); /* and the job is removed with it */
	node_writer_end(config);
}

int main(void)
{
	struct job_fixture f = { 0 };

	fixture_open(&f, watchers);
	fixture_must(submit_new(&f.d, &f.d.submit) == 0, "no memory");
	job = fixture_job(&f, "one");
	test_parts();
	test_config();
	test_kept();
	submit_free(f.d.submit);
	fixture_close(&f);
	return done_testing();
}
