"""The base folder is ours alone and open for others to pass through, or it is refused."""

import os
from pathlib import Path

import pytest
from tests.support.sandboxes import throwaway_base

from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.errors import BaseFolderError

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def test_it_is_made_with_passage_for_all_and_lists_for_none() -> None:
    """Mode 0711, also when it existed with another."""
    with throwaway_base() as folder:
        assert open_base(folder / "new").stat().st_mode & 0o7777 == 0o711
        (folder / "new").chmod(0o777)
        assert open_base(folder / "new").stat().st_mode & 0o7777 == 0o711


def test_a_link_or_file_in_its_place_is_refused() -> None:
    """Somebody may have been there first, as the name can be guessed."""
    with throwaway_base() as folder:
        (folder / "elsewhere").mkdir()
        (folder / "link").symlink_to(folder / "elsewhere")
        (folder / "file").touch()
        for name in ("link", "file"):
            with pytest.raises(BaseFolderError, match=name):
                open_base(folder / name)
    with pytest.raises(BaseFolderError, match="absolute"):
        open_base(Path("relative"))


@needs_root
def test_a_folder_of_someone_else_is_refused() -> None:
    """Its owner could change what lies in it."""
    with throwaway_base() as folder:
        os.chown(folder, 65532, 65532)
        with pytest.raises(BaseFolderError, match="is not a folder of uid 0"):
            open_base(folder)


@needs_root
def test_a_parent_that_tools_cant_enter_is_refused_by_name() -> None:
    """Such as root's home."""
    with throwaway_base() as folder:
        (folder / "home").mkdir(mode=0o700)
        with pytest.raises(BaseFolderError, match=r"below .*/home, which"):
            open_base(folder / "home/base")
