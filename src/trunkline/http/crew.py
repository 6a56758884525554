"""Who works for one event loop: threads of each kind, and what has threads of its own."""

from __future__ import annotations

from trunkline.config.settings import Settings
from trunkline.http.dav import Dav
from trunkline.http.door import Door, States
from trunkline.http.fresh import Fresh
from trunkline.http.reception import Reception
from trunkline.http.spooled import Spooled
from trunkline.http.threads import Threads
from trunkline.http.whole_files import WholeFiles


class Crew:
    """Made, asked and closed in the loop that serves."""

    def __init__(self, settings: Settings, door: Door) -> None:
        server, share = settings.server, settings.limits.threads_per_address
        self.fresh: States = Fresh()
        self.threads = Threads(server.threads, "reply", share)
        self.bridge_threads = Threads(server.bridge_threads, "bridge", share)
        self.push_threads = Threads(server.push_threads, "push")
        self.page_threads = Threads(server.page_threads, "page")
        self.reception = Reception()
        self.dav = Dav(settings, door.subversion, self.threads, self.push_threads)
        self.spooled = Spooled(settings.spool)
        self.files = WholeFiles(door.shelf_folder)

    def close(self) -> None:
        """No thread waits."""
        kinds = (self.threads, self.bridge_threads, self.push_threads, self.page_threads)
        for one in (*kinds, self.reception, self.files, self.spooled):
            one.close()
