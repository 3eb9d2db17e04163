"""Parser of the hostile programs: `### name | text in the reply`, alternatives joined by " or ", then the program.

In a program @CANARY@ is a file of the host, @NONCE@ what is in it, @PORT@ and @ABSTRACT@ are listeners, @PID@ is the
host's process. A program that gets through prints ESCAPED.
"""

import platform
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Program(NamedTuple):
    family: str
    name: str
    holds: tuple[str, ...]
    code: str

    @property
    def endless(self):
        """True for programs that may hit the time limit; others get time for a busy machine."""
        return self.family == "time" or "TimeoutError" in self.holds

    def aimed(self, targets):
        return re.sub(r"@([A-Z]+)@", lambda found: str(targets[found[1]]), self.code)


def programs():
    found = []
    for path in sorted(HERE.glob("*.txt")):
        for part in re.split(r"^### ", path.read_text(encoding="ascii"), flags=re.MULTILINE)[1:]:
            title, code = part.split("\n", 1)
            name, holds = title.split(" |")
            found.append(Program(path.stem, name, tuple(holds.strip().split(" or ")), code))
    # Numbers of system calls and machine code are those of one machine.
    native = platform.machine() == "x86_64"
    return [one for one in found if native or not re.search(r"syscall\(|prot=7|bytes\.fromhex", one.code)]
