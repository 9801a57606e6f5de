# SPDX-License-Identifier: Apache-2.0
"""Which of CPython's tests run in fsd's machines, and which differ there.

A row is a job: names of modules in the package "test", each with a pattern for the
ids of its tests, or without. A pattern with ! leaves those tests out. Not here are modules that test nothing on the plain
Debian either: what needs a compiler, Tk, other systems, a network, or resources
that regrtest has to be asked for.
"""

# What `make check` runs: what a sandbox can break, for a minute of a processor. Of
# tests that are like others and start interpreters it takes one or two.
SLICE = [
    "test_fork1 test_wait3:*.test_wait test_wait4 test_popen test_pty test_openpty "
    "test_tty test_select test_poll test_epoll test_selectors "
    "test_fcntl:!*.test_lockf_share test_ioctl",
    "test_file test_fileio test_univnewlines test_fileinput test_mmap "
    "test_stat test_genericpath test_posixpath test_unicode_file",
    "test_pwd test_grp test_resource test_locale test_getpass "
    "test_time test_strftime:*.Y1900Tests.* test_sched test_threadsignals",
    "test_linecache test_code_module test_atexit:*.FunctionalTest.* test_pkg "
    "test_pkgutil",
    "test_termios test_readline:*.TestHistoryManipulation.* "
    "test_readline:*.TestReadline.test_[in]* "
    "test_uuid:*.TestInternalsWithExtModule.* "
    "test_uuid:*.TestUUIDWithExtModule.test_uuid[14]* test_dbm_gnu",
    "test_posix:*.PosixTester.* test_posix:*.PosixGroupsTester.* "
    "test_posix:*.TestPosixDirFd.* test_posix:*.NamespacesTests.* "
    "test_posix:*.TestPosixSpawn.test_[ms]* "
    "test_posix:*.TestPosixSpawn.test_close_file "
    "test_posix:*.TestPosixSpawnP.test_posix_spawnp",
    "test_tempfile:!*_on_shutdown*",
    "test_os:*.FileTests.* test_os:*.EnvironTests.* test_os:*.ExecTests.* "
    "test_os:*.PidTests.* test_os:*.SpawnTests.test_nowait "
    "test_os:*.SpawnTests.test_spawnvpe test_os:*.ProgramPriorityTests.* "
    "test_os:*.FDInheritanceTests.* test_os:*.LinkTests.*",
    "test_signal:*.PosixTests.* test_signal:*.ItimerTest.* "
    "test_signal:*.PendingSignalsTests.test_sig[pw]*",
    "test_subprocess:*.POSIXProcessTestCase.test_p*",
    "test_socket:*.BasicTCPTest.* test_socket:*.TestUnixDomain.* "
    "test_threading:*.ThreadTests.test_[a-e]*",
    "test_multiprocessing_fork.test_processes:"
    "*.WithProcessesTestProcess.test_[a-m]*",
    "test_traceback:*.TracebackCases.test_[a-d]* test_shutil:*.TestCopy.* "
    "test_runpy:*.RunPathTestCase.* "
    "test_inspect.test_inspect:*.TestRetrievingSourceCode.*",
    "test_import:*.ImportTests.test_[a-i]*",
]

# What `make peer` runs: these and all the others.
MODULES = [
    "test___all__", "test__colorize", "test__interpchannels", "test__opcode",
    "test_abc", "test_abstract_numbers", "test_array", "test_ast",
    "test_asyncgen", "test_atexit", "test_augassign", "test_base64",
    "test_baseexception", "test_bdb", "test_binascii", "test_binop",
    "test_bisect", "test_bool", "test_buffer", "test_bufio", "test_builtin",
    "test_bytes", "test_bz2", "test_c_locale_coercion", "test_calendar",
    "test_call", "test_charmapcodec", "test_class", "test_cmath", "test_cmd",
    "test_cmd_line", "test_cmd_line_script", "test_code", "test_code_module",
    "test_codeccallbacks", "test_codecencodings_cn", "test_codecencodings_hk",
    "test_codecencodings_iso2022", "test_codecencodings_jp",
    "test_codecencodings_kr", "test_codecencodings_tw", "test_codecs",
    "test_codeop", "test_collections", "test_colorsys", "test_compare",
    "test_compile", "test_compileall", "test_compiler_assemble",
    "test_compiler_codegen", "test_complex", "test_configparser",
    "test_contains", "test_context", "test_contextlib",
    "test_contextlib_async", "test_copy", "test_copyreg", "test_coroutines",
    "test_cprofile", "test_csv", "test_ctypes", "test_dataclasses", "test_dbm",
    "test_dbm_dumb", "test_dbm_gnu", "test_dbm_ndbm", "test_dbm_sqlite3",
    "test_decimal", "test_decorators", "test_defaultdict", "test_deque",
    "test_descr", "test_dict", "test_dict_version", "test_dictcomps",
    "test_dictviews", "test_difflib", "test_dis", "test_doctest",
    "test_docxmlrpc", "test_dynamic", "test_dynamicclassattribute",
    "test_enum", "test_enumerate", "test_eof", "test_epoll", "test_errno",
    "test_except_star", "test_exception_group", "test_exception_hierarchy",
    "test_exception_variations", "test_exceptions", "test_extcall",
    "test_external_inspection", "test_faulthandler", "test_fcntl", "test_file",
    "test_file_eintr", "test_filecmp", "test_fileinput", "test_fileio",
    "test_fileutils", "test_finalization", "test_float", "test_flufl",
    "test_fnmatch", "test_fork1", "test_format", "test_fractions",
    "test_frame", "test_frozen", "test_fstring", "test_ftplib",
    "test_funcattrs", "test_future_stmt", "test_gc", "test_generator_stop",
    "test_generators", "test_genericalias", "test_genericclass",
    "test_genericpath", "test_genexps", "test_getpass", "test_getpath",
    "test_gettext", "test_glob", "test_global", "test_grammar",
    "test_graphlib", "test_grp", "test_gzip", "test_hash", "test_hashlib",
    "test_heapq", "test_hmac", "test_html", "test_htmlparser",
    "test_http_cookiejar", "test_http_cookies", "test_httplib",
    "test_httpservers", "test_imaplib", "test_import", "test_importlib",
    "test_index", "test_inspect", "test_int", "test_int_literal",
    "test_interpreters", "test_io", "test_ioctl", "test_ipaddress",
    "test_isinstance", "test_iter", "test_iterlen", "test_json",
    "test_keyword", "test_keywordonlyarg", "test_linecache", "test_list",
    "test_listcomps", "test_locale", "test_logging", "test_long",
    "test_longexp", "test_lzma", "test_mailbox", "test_marshal", "test_math",
    "test_memoryio", "test_memoryview", "test_metaclass", "test_mimetypes",
    "test_minidom", "test_mmap", "test_module", "test_modulefinder",
    "test_monitoring", "test_multibytecodec",
    "test_multiprocessing_main_handling", "test_named_expressions",
    "test_netrc", "test_ntpath", "test_numeric_tower", "test_opcache",
    "test_opcodes", "test_openpty", "test_operator", "test_optimizer",
    "test_ordered_dict", "test_os", "test_pathlib", "test_patma", "test_pdb",
    "test_peepholer", "test_pep646_syntax", "test_pickle", "test_picklebuffer",
    "test_pkg", "test_pkgutil", "test_platform", "test_plistlib", "test_poll",
    "test_popen", "test_poplib", "test_positional_only_arg", "test_posix",
    "test_posixpath", "test_pow", "test_pprint", "test_print", "test_profile",
    "test_property", "test_pstats", "test_pty", "test_pulldom", "test_pwd",
    "test_py_compile", "test_pyclbr", "test_pydoc", "test_pyexpat",
    "test_queue", "test_quopri", "test_raise", "test_random", "test_range",
    "test_re", "test_readline", "test_repl", "test_reprlib", "test_resource",
    "test_richcmp", "test_rlcompleter", "test_robotparser", "test_runpy",
    "test_sax", "test_sched", "test_scope", "test_script_helper",
    "test_secrets", "test_select", "test_selectors", "test_set",
    "test_setcomps", "test_shelve", "test_shlex", "test_shutil", "test_signal",
    "test_site", "test_slice", "test_smtplib", "test_socket", "test_sort",
    "test_source_encoding", "test_sqlite3", "test_ssl",
    "test_stable_abi_ctypes", "test_stat", "test_statistics", "test_str",
    "test_strftime", "test_string", "test_string_literals", "test_stringprep",
    "test_strptime", "test_strtod", "test_struct", "test_structseq",
    "test_subclassinit", "test_subprocess", "test_sundry", "test_super",
    "test_symtable", "test_syntax", "test_sys", "test_sys_setprofile",
    "test_sys_settrace", "test_sysconfig", "test_syslog", "test_tabnanny",
    "test_tarfile", "test_tempfile", "test_termios", "test_textwrap",
    "test_thread", "test_threading", "test_threading_local",
    "test_threadsignals", "test_time", "test_timeit", "test_tokenize",
    "test_tomllib", "test_trace", "test_traceback", "test_tracemalloc",
    "test_tty", "test_tuple", "test_type_aliases", "test_type_annotations",
    "test_type_cache", "test_type_comments", "test_type_params",
    "test_typechecks", "test_types", "test_typing", "test_ucn", "test_unary",
    "test_unicode_file", "test_unicode_file_functions",
    "test_unicode_identifiers", "test_unicodedata", "test_unittest",
    "test_univnewlines", "test_unpack", "test_unpack_ex", "test_unparse",
    "test_urllib", "test_urllib2", "test_urllib2_localnet",
    "test_urllib_response", "test_urlparse", "test_userdict", "test_userlist",
    "test_userstring", "test_utf8_mode", "test_utf8source", "test_uuid",
    "test_wait3", "test_wait4", "test_warnings", "test_wave", "test_weakref",
    "test_weakset", "test_webbrowser", "test_with", "test_wsgiref",
    "test_xml_dom_minicompat", "test_xml_dom_xmlbuilder", "test_xml_etree",
    "test_xml_etree_c", "test_xmlrpc", "test_xxlimited", "test_yield_from",
    "test_zipapp", "test_zipfile", "test_zipimport", "test_zipimport_support",
    "test_zlib", "test_zoneinfo",
]

# Options of a row's job.
OPTIONS = {
    # They need more than a job has by default.
    **{row: {"memory_mb": 1024}
       for row in ("test_compile", "test_interpreters", "test_random")},
}

# Tests that pass on the plain Debian and not in a machine: row -> {id: reason}.
DIFFERS = {
    "test_site": {
        "test.test_site.ImportSideEffectTests.test_sitecustomize_executed":
            "the runner is Python's sitecustomize, and hides",
    },
}

# Tests that measure seconds; a busy host's emulated processor fails any of them.
TIMES = {
    "test.test_time.TimeTestCase.test_process_time",
    "test.test_time.TimeTestCase.test_thread_time",
    *("test.test_selectors.%sSelectorTestCase.test_timeout" % kind
      for kind in ("Default", "Select", "Poll", "Epoll")),
    # To a millisecond.
    *("test.test_os.TimerfdTests.test_timerfd_%s" % what
      for what in ("TFD_TIMER_ABSTIME", "interval", "ns_TFD_TIMER_ABSTIME")),
    # Its timer goes off twice before the handler of the first runs.
    "test.test_signal.ItimerTest.test_itimer_virtual",
}

# Known faults, not yet mended: what a failure that comes of one says.
OPEN = {
    r"\[Errno 30\] Read-only file system":
        "what belongs to the system is a read-only file system",
}
