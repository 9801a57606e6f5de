# SECONDS begins at zero, and a script's process is young.
echo "$SECONDS"; ((EPOCHSECONDS > 1700000000)) && echo now; [[ $EPOCHREALTIME == *.* ]] && echo fine
SECONDS=100; echo "$SECONDS"; date +%Z; TZ=Asia/Tokyo date -d @0 '+%H %Z'
ps -o etimes= -p $$ | awk '{ print ($1 < 20) ? "young" : $1 }'; times | awk -F'[ms]' '{ print ($1 * 60 + $2 < 5) ? "little" : $0 }'
