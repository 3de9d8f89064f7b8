"""Where a hook's calendar comes from, and whether a newer one is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trainer_hooks.calendar import CalendarError, current_folder, read_current, read_run

if TYPE_CHECKING:
    from trainer_hooks.contract import RunCalendar


class CalendarFeed:
    """Reads one run's calendar and looks for a newer one.

    Args:
        path: Root folder with the pointer `current`, a calendar's own folder, or a run's file.
        run: Name of the run; needed for a folder, and compared for a file if not empty.
    """

    def __init__(self, path: Path, run: str) -> None:
        self._path = Path(path)
        self._run = run
        self._seen: object = None

    def poll(self) -> RunCalendar | None:
        """Read the calendar if it is another than at the last successful call.

        Returns:
            The new calendar, or None if there is no newer one.

        Raises:
            CalendarError: There is none, or it is damaged, or it is not this run's.
        """
        try:
            is_folder = self._path.is_dir()
            seen = self._folder_key() if is_folder else self._file_key()
        except (OSError, ValueError) as error:
            raise CalendarError(
                str(self._path),
                f"it cannot be read ({error}).",
                "Set GRIDPACE_CALENDAR to a calendar's folder; one on a web server is followed by the node agent.",
            ) from error
        if seen == self._seen:
            return None
        calendar = read_current(self._path, self._run) if is_folder else read_run(self._path)
        if self._run and calendar.run != self._run:
            raise CalendarError(
                str(self._path), f"it is for run {calendar.run!r}, not {self._run!r}.", "Set GRIDPACE_RUN to its run."
            )
        self._seen = seen
        return calendar

    def _folder_key(self) -> object:
        if not self._run:
            raise CalendarError(
                str(self._path), "a folder holds many runs, and no run is named.", "Set GRIDPACE_RUN to the run's name."
            )
        return "folder" if (self._path / "calendar.json").is_file() else str(current_folder(self._path))

    def _file_key(self) -> object:
        facts = self._path.stat()
        return facts.st_ino, facts.st_size, facts.st_mtime_ns
