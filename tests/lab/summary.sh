#!/usr/bin/env bash
# The lab's figures as a page of Markdown tables, from the folder of results. Called by lab.sh.
set -u
cd "$1" || exit
