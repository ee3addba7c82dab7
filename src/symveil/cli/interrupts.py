"""An interrupt that nobody may swallow: Ctrl-C, a request to end (SIGTERM), or a terminal that was closed (SIGHUP).

Python raises `KeyboardInterrupt` wherever the program happens to be. Inside a callback whose exceptions cannot be
passed on (a weak reference that dies, `__del__`) it is printed and forgotten; inside the import of some compiled
libraries it is dropped without a word. The run would go on as if Ctrl-C had not been pressed. So an interrupt is
remembered: one that ends at `sys.unraisablehook` is sent again, and what reports progress stops at its next report.
"""

import _thread
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# long enough for the callback that swallowed it to be over; a second swallowing is sent again in the same way
AGAIN_AFTER = 0.01

_asked = threading.Event()  # there was an interrupt
_seen_to = threading.Event()  # and the work has stopped for it
_again = threading.Event()  # the next one is not the user's: it was sent again
_asked_by: list[int] = []  # the signals, in their order
_DEFAULTS = {
    number: otherwise
    for name, otherwise in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    )
    if (number := getattr(signal, name, None)) is not None
}


def keep_interrupts() -> None:
    """Remember every interrupt, and send those again that were raised where they could not be passed on.

    >>> before = sys.unraisablehook, {number: signal.getsignal(number) for number in _DEFAULTS}
    >>> keep_interrupts()
    >>> sys.unraisablehook is before[0]
    False
    >>> sys.unraisablehook, _ = before[0], [signal.signal(*each) for each in before[1].items()]
    """
    for number, otherwise_handled in _DEFAULTS.items():
        if signal.getsignal(number) is otherwise_handled:  # not where the caller ignores it, as nohup does
            signal.signal(number, _remember)
    otherwise = sys.unraisablehook

    def hook(what: "UnraisableHookArgs") -> None:
        if not issubclass(what.exc_type, KeyboardInterrupt):
            otherwise(what)
            return
        again = threading.Timer(AGAIN_AFTER, _interrupt)
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def interrupted_status() -> int:
    """The exit status of a command that a signal ended: 130 after Ctrl-C, 143 after SIGTERM.

    >>> interrupted_status()
    130
    """
    return 128 + (_asked_by[0] if _asked_by else signal.SIGINT)


def stop_if_interrupted() -> None:
    """Raise the interrupt that was asked for, if the program still runs in spite of it.

    >>> stop_if_interrupted()
    """
    if _asked.is_set() and not _seen_to.is_set():
        _seen_to.set()  # once: what cleans up may report too
        raise KeyboardInterrupt


def let_go() -> None:
    """From here on the program ends anyway: an interrupt must not end it in another way.

    >>> let_go()
    """
    for number in _DEFAULTS:
        if signal.getsignal(number) is _remember:
            signal.signal(number, signal.SIG_IGN)
    if _asked.is_set():
        import ctypes  # only here: it is not light

        # CPython remembers an interrupt that passed through code run from C, handled or not, and `python -m` would then
        # die of the signal instead of exiting with our status; running anything from C makes it forget
        ctypes.pythonapi.PyRun_SimpleString(b"pass")


def _remember(number: int, _frame: FrameType | None) -> None:
    if _again.is_set():
        _again.clear()
        if _seen_to.is_set():  # in the meantime: what cleans up is not to be disturbed
            return
    else:
        _asked_by.append(number)
    _asked.set()
    raise KeyboardInterrupt


def _interrupt() -> None:
    _again.set()
    if hasattr(signal, "pthread_kill"):  # a real signal: it also ends a wait for something outside Python
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()
