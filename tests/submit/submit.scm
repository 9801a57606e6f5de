; SPDX-License-Identifier: Apache-2.0
; submit JOB CONFIG: see submit.py.
(use-modules (ice-9 textual-ports))

(define job (cadr (command-line)))
(define config (caddr (command-line)))

(define (put name text)
  (let ((port (open-output-file (string-append job "/" name))))
    (display text port)
    (close-port port)))

(mkdir job)
(put "code.sh" "out hello\nerr oops\nwrite result.txt made\nexit 7\n")
(put "config.json" config)
(for-each
 (lambda (name)
   (display (call-with-input-file (string-append job "/" name) get-string-all)))
 '("wait" "stdout" "output/result.txt"))
