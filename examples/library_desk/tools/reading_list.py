"""Called with `--title=...`. What is kept in $HOME is there in the turn's next call; the outbox is returned."""

import argparse
import os
import shutil
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--title", required=True)
title = parser.parse_args().title

kept = Path(os.environ["HOME"], "reading-list.txt")
with kept.open("a") as file:
    file.write(f"{title}\n")
shutil.copy(kept, os.environ["VESSEL_OUTBOX"])
titles = kept.read_text().splitlines()
sys.stdout.write(f"{len(titles)} on the list: {', '.join(titles)}\n")
