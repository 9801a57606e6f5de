# A script logs itself by exec and tee.
exec > >(tee build.log) 2>&1
echo "step 1: configure"
echo "step 2: compile" >&2
echo "step 3: done"
