/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which environment variables a job may set. The table `hijacks` lists names by
 * which a loader, a shell or an interpreter would run other code.
 *
 * Names are compared without regard to case. There is no state.
 */
#include "env.h"

#include <string.h>
#include <strings.h>

#include "layout/base/num.h"

/* A "*" at the end matches any ending. */
static const char *const hijacks[] = {
	/* the dynamic loader and the C library */
	"LD_*", "GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR",
	/* shells */
	"PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "IFS", "CDPATH", "PS4",
	"SHELLOPTS", "BASHOPTS",
	/* Python */
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT",
	"PYTHONWARNINGS", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR",
	 "PYTHONBREAKPOINT", "PYTHONPYCACHEPREFIX",
	/* Node.js and OpenSSL, which loads engines for it */
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE",
	 "NODE_CHANNEL_FD",
	"NODE_CHANNEL_SERIALIZATION_MODE", "OPENSSL_CONF", "OPENSSL_MODULES",
	"OPENSSL_ENGINES",
	/* other interpreters that a #! line may name */
	"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB",
	"AWKPATH", "AWKLIBPATH",
};

bool env_name_ok(const char *name, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	if (!len || !name[0] || !strchr(letters, name[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!name[i] || (!strchr(letters, name[i]) &&
				 !strchr("0123456789", name[i])))
			return false;
	return true;
}

bool env_is_hijack(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hijacks); i++) {
		size_t len = strlen(hijacks[i]);

		if (hijacks[i][len - 1] == '*') {
			if (!strncasecmp(hijacks[i], name, len - 1))
				return true;
		} else if (!strcasecmp(hijacks[i], name)) {
			return true;
		}
	}
	return false;
}

size_t env_value_span(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return i;
	}
	return len;
}
