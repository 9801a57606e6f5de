/* SPDX-License-Identifier: Apache-2.0 */
/* The limits and defaults that jobtree(5) promises. */
#ifndef LAYOUT_LIMITS_H
#define LAYOUT_LIMITS_H

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#define LIMIT_JOB_NAME 200u /* bytes; leaves space for suffixes */
#define LIMIT_FILE_NAME 255u       /* bytes; NAME_MAX of every host */
#define LIMIT_PATH 4095u           /* bytes of an input's path */
#define LIMIT_DEPTH 64u            /* directories below a job */
#define LIMIT_CONFIG_BYTES MIB(1)  /* size of config.json */
#define LIMIT_CONFIG_DEPTH 32u     /* levels of JSON */
#define LIMIT_CODE_BYTES MIB(1)    /* the program's own file */
#define LIMIT_NOTE KIB(4)          /* "note" in config.json, as JSON */
#define LIMIT_ARGS 1024u
#define LIMIT_ARGS_BYTES KIB(128)
#define LIMIT_ENV 256u
#define LIMIT_PACKAGES 64u
#define LIMIT_ENV_BYTES KIB(128)
#define LIMIT_STDIN_TEXT MIB(1)    /* "stdin" in config.json */
#define LIMIT_STDIN_FILE MIB(256) /* bytes of a stdin file; more needs a pipe */
#define LIMIT_CTL_BYTES 256u       /* bytes of one write to ctl */
#define LIMIT_TIMEOUT_MIN_MS 100u
#define LIMIT_GRACE_MS 60000u
#define LIMIT_LINGER_MS 60000u
#define LIMIT_SESSION_IDLE_MIN_MS 1000u
#define LIMIT_SESSION_IDLE_MS 86400000u
/* bytes of a job's log; a job can be run for ever */
#define LIMIT_LOG_BYTES KIB(256)
#define LIMIT_SANDBOX_META KIB(64) /* "meta" of a sandbox, as JSON */
/* a sandbox's life or idle time: a year */
#define LIMIT_SANDBOX_MS 31536000000u
#define LIMIT_SANDBOXES 1024u /* sandboxes of one user; each needs memory */
/* files beside config.json, for writers that write a second file and rename it */
#define LIMIT_SANDBOX_FILES 8u
#define LIMIT_RETRY 10u /* a permanent fault is reported soon */
#define LIMIT_RETAIN_S 31536000u   /* a year */
#define LIMIT_RESULTS 256u /* rich results of one cell */
#define LIMIT_PORTS 10u       /* ports in the list "ports" of a job */
#define LIMIT_PORT_MIN 1024u  /* below it takes a capability that no program has */
#define LIMIT_PORT_MAX 65535u
#define LIMIT_NETWORK_TEXT (128u << 10) /* bytes of the rules of "network" */
#define LIMIT_PRIORITY 100u /* highest priority; the lowest is -LIMIT_PRIORITY */
#define LIMIT_MEMORY_MIN_MB 32u
#define LIMIT_PROCESSES 4096u
#define LIMIT_STREAM_BYTES GIB(4)
#define LIMIT_OUTPUT_FILES 65536u /* entries of output/; inodes are limited */
/* bytes of the paths of these entries, which are all in memory */
#define LIMIT_OUTPUT_PATHS MIB(32)
#define LIMIT_LEFT_OUT 100u        /* entries in output_left_out */
#define LIMIT_VALUE_BYTES MIB(16)  /* value and error of result.json */
#define LIMIT_VALUE_DEPTH 256u     /* levels of JSON in value and error */
/* JSON values in one text; each value needs memory */
#define LIMIT_VALUE_PARTS 2000000u
#define LIMIT_RESULT_BYTES MIB(512) /* result.json: LIMIT_OUTPUT_FILES names */

#define DEFAULT_TIMEOUT_MS 30000u
#define DEFAULT_LINGER_MS 1000u
#define DEFAULT_SESSION_IDLE_MS 600000u
#define DEFAULT_SANDBOX_IDLE_MS 600000u
#define DEFAULT_MEMORY_MB 256u
#define DEFAULT_PROCESSES 256u
#define DEFAULT_STDOUT_LIMIT MIB(64)
#define DEFAULT_STDERR_LIMIT MIB(16)
#define DEFAULT_OUTPUT_LIMIT MIB(256)
#define DEFAULT_MAX_QUEUED 100000u /* runs that may wait, of all users together */
#define DEFAULT_TIMEOUT_MAX_MS 3600000u /* the operator may change it */

#endif
