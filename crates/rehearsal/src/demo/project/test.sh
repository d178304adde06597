#!/bin/sh
# Checks days_in_month.sh against months whose length is known.

cd "$(dirname "$0")" || exit 2
passed=0
failed=0

check() {
    days=$(sh ./days_in_month.sh "$1" "$2")
    if [ "$days" = "$3" ]; then
        echo "PASS  $1-$2 has $3 days"
        passed=$((passed + 1))
    else
        echo "FAIL  $1-$2 has $3 days, but days_in_month.sh says $days"
        failed=$((failed + 1))
    fi
}

check 2025 1 31
check 2025 4 30
check 2025 2 28
check 2024 2 29
check 2000 2 29
check 1900 2 28

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
