#!/usr/bin/env bash
# Every test of the project, on a fresh Debian with a Swift toolchain. The last line is `N passed, N failed`.
#
#   Tests/run.sh            everything
#   Tests/run.sh STEP …     only these steps: packages client-venv lint debug release unit conformance client durability
#                           badinput upstream sync storm readme
set -uo pipefail
cd "$(dirname "$0")/.." || exit 70
export LC_ALL=C.UTF-8
unset "${!KIZUNA_@}" 2>/dev/null
logs=.build/test-logs
mkdir -p "$logs"
passed=0 failed=0 chosen=("$@")
gateway=.build/release/kizuna-gateway

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# step NAME COMMAND…: runs the command with its output in a log; a log whose last line counts is counted by that line,
# any other step is one check. A failed step shows the end of its log.
step() {
  local name=$1 began=$SECONDS status=0 closing
  shift
  if [ ${#chosen[@]} -gt 0 ] && [[ " ${chosen[*]} " != *" $name "* ]]; then return; fi
  "$@" >"$logs/$name.log" 2>&1 </dev/null || status=$?
  closing=$(tail -n 1 "$logs/$name.log")
  if [[ $closing =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    if [ $status -ne 0 ] && [ "${BASH_REMATCH[2]}" = 0 ]; then failed=$((failed + 1)); fi
  else
    closing=
    if [ $status -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  fi
  printf '%-7s %-12s %4d s  %s\n' "$([ $status -eq 0 ] && echo ok || echo FAILED)" "$name" $((SECONDS - began)) "$closing"
  if [ $status -ne 0 ]; then
    echo "--- the end of $logs/$name.log (exit status $status)"
    tail -n 40 "$logs/$name.log"
    echo "---"
  fi
}

packages() {
  local missing=() package
  for package in libsqlite3-dev libcurl4-openssl-dev libmicrohttpd-dev pkg-config wrk python3-venv sqlite3 curl tzdata gcc \
    postgresql python3-psycopg2 python3-pytest python3-pytest-xdist python3-yaml; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

client_venv() {
  [ -x .build/venv/bin/python ] || python3 -m venv .build/venv || return
  .build/venv/bin/python -m pip --disable-pip-version-check install --quiet supabase
}

# pytests FOLDER …: Debian's pytest on two processes; its summary becomes the line that is counted.
pytests() {
  local status=0 summary passes failures
  KIZUNA_GATEWAY=$PWD/$gateway /usr/bin/python3 -m pytest -q -p no:cacheprovider -n 2 --durations=5 "$@" || status=$?
  summary=$(tail -n 1 "$logs/$name.log")
  passes=$(grep -oE '[0-9]+ passed' <<<"$summary") || passes='0 passed'
  failures=$(grep -oE '[0-9]+ (failed|errors?)' <<<"$summary" | awk '{ sum += $1 } END { print sum + 0 }')
  echo "$passes, $failures failed"
  return $status
}

step packages packages
step client-venv client_venv
step lint swift format lint --strict -r Sources Tests Package.swift
step debug swift build
step release swift build -c release --static-swift-stdlib
step unit swift test
step conformance python3 Tests/Conformance/conformance.py --gateway $gateway
step client .build/venv/bin/python Tests/Clients/supabase_client.py --gateway $gateway
step durability python3 Tests/Scripts/durability.py --rounds 20 --gateway $gateway
step badinput python3 Tests/Scripts/badinput.py --gateway $gateway
step upstream pytests Tests/Upstream
step sync pytests Tests/Sync
step storm /usr/bin/python3 Tests/Sync/storm.py --seeds 200 --jobs 2 --gateway $gateway
if [ -f Tests/Scripts/readme.sh ]; then step readme bash Tests/Scripts/readme.sh; fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
