# SPDX-License-Identifier: Apache-2.0
#
# Before the examples of fsd-env(8): an environment that somebody else has
# exported, an image that it fits, a place for this user's own.
# shellcheck disable=SC1091
source "$TOP/tests/lib/environment.bash"
environment_image image.d libc6 python3
FSD_IMAGE=$PWD/image.d
LOCK=$(printf '{"packages": [{"source": "%s", "name": "%s", "version": "%s", "licence": "%s", "file": "x", "sha256": "%064d"}]}' \
	pypi pandas 2.2.3 BSD-3-Clause 0) \
	RECIPE='{"arguments": ["--pypi", "pandas==2.2.3", "--warm", "pandas"]}' \
	NEEDS='libc6 python3' ENVIRONMENTS=$PWD/other \
	environment_make data '' '{"python": ["pandas"]}' >/dev/null
FSD_ENVIRONMENTS=$PWD/other fsd env export data data.env >/dev/null
FSD_ENVIRONMENTS=$PWD/environments
export FSD_IMAGE FSD_ENVIRONMENTS
