# Handlers, masks, alarms and waiting for signals.
import os
import signal
import time

me = os.getpid()
usual = {s.name: signal.getsignal(s) for s in signal.valid_signals()
         if isinstance(s, signal.Signals)
         and signal.getsignal(s) != signal.SIG_DFL}
print(usual)
signal.signal(signal.SIGUSR1, lambda n, frame: print("got", n, frame.f_lineno))
os.kill(me, signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(me, signal.SIGUSR2)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR2]))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.01)
print(signal.sigwait([signal.SIGALRM]))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
print(signal.strsignal(15), signal.Signals(9).name)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(me, signal.SIGTERM)
signal.signal(signal.SIGCHLD, lambda *_: print("child ended"))
os.system("true")
print(signal.siginterrupt(signal.SIGUSR1, False))
