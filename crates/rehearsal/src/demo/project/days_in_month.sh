#!/bin/sh
# How many days does a month have?
# Usage: days_in_month.sh YEAR MONTH

year=$1
month=$2

case $month in
4 | 6 | 9 | 11)
    echo 30
    ;;
2)
    if [ $((year % 4)) -eq 0 ]; then
        echo 29
    else
        echo 28
    fi
    ;;
*)
    echo 31
    ;;
esac
