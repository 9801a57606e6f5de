# logging writes to standard error and to files, with levels and traces.
import logging
import logging.handlers

logging.warning("before any configuration")
logging.basicConfig(format="%(levelname)s:%(name)s:%(filename)s:%(lineno)d:%(message)s",
                    level=logging.INFO, force=True)
log = logging.getLogger("app.part")
log.info("hello %s", "world")
log.debug("not shown")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
h = logging.handlers.RotatingFileHandler("app.log", maxBytes=60, backupCount=2)
log.addHandler(h)
for n in range(4):
    log.warning("line %d of the file", n)
log.info("%d", "no number")
logging.captureWarnings(True)
print(log.getEffectiveLevel(), log.handlers[0].baseFilename, logging.root.handlers)
