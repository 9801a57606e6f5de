/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of routes: method, path, service, guard, handler, largest body. The manual
 * fsd-gateway(8) documents each. http_start() borrows the table; nothing changes it.
 */
#include "routes.h"

#include "fsd/gateway/code/code.h"
#include "fsd/gateway/code/ragflow.h"
#include "fsd/gateway/control/control.h"
#include "fsd/gateway/control/egress.h"
#include "fsd/gateway/control/port_traffic.h"
#include "fsd/gateway/control/sandbox_guard.h"
#include "fsd/gateway/envd/envd.h"
#include "fsd/gateway/envd/process.h"
#include "fsd/gateway/http/tunnel.h"
#include "fsd/gateway/mcp/mcp.h"
#include "fsd/gateway/ui/ui.h"
#include "info.h"

#define NO(what) what " are not available in fsd"

#define CALL .service = SERVICE_ENVD, .guard = envd_call_guard, \
	.style = STYLE_CONNECT
#define STREAM .service = SERVICE_ENVD, .guard = envd_stream_guard, \
	.style = STYLE_CONNECT
#define FILESYSTEM "/filesystem.Filesystem/"
#define PROCESS "/process.Process/"
/* routes that need a key */
#define CODE .guard = sandbox_guard, .style = STYLE_TEXT
#define CONTROL .service = SERVICE_CONTROL, .key = true, .light = true

const struct route routes[] = {
	/* about the gateway itself */
	{ "GET", "/health", SERVICE_CONTROL, .handler = get_health,
	  .light = true },
	{ "GET", "/healthz", SERVICE_RUN, .handler = get_healthz,
	  .light = true },
	{ "GET", "/metrics", CONTROL,
	  .handler = get_metrics },

	/* the dashboard */
	{ "GET", "/", SERVICE_CONTROL, .handler = get_root,
	  .guard = ui_guard, .light = true },
	{ "GET", "/ui", SERVICE_CONTROL, .handler = get_ui,
	  .guard = ui_guard, .light = true },
	{ "GET", "/ui/state", CONTROL, .handler = get_ui_state,
	  .guard = ui_guard },
	{ "GET", "/ui/events", CONTROL, .handler = get_ui_events,
	  .guard = ui_guard },
	{ "GET", "/ui/sandboxes/{}", CONTROL, .handler = get_ui_sandbox,
	  .guard = ui_guard },
	{ "GET", "/ui/jobs/{}", CONTROL, .handler = get_ui_job,
	  .guard = ui_guard },
	{ "DELETE", "/ui/sandboxes/{}", CONTROL, .handler = delete_ui_sandbox,
	  .guard = ui_change_guard },
	{ "POST", "/ui/jobs/{}/kill", CONTROL, .handler = post_ui_kill,
	  .guard = ui_change_guard },

	/* RAGFlow */
	{ "POST", "/run", SERVICE_RUN, .key = true, .handler = post_run,
	  .light = true },

	/* MCP */
	{ "POST", "/mcp", SERVICE_CONTROL, .key = true, .handler = post_mcp,
	  .body_max = MCP_LINE_MAX },

	/* sandboxes */
	{ "POST", "/v2/sandboxes", CONTROL, .handler = post_sandboxes },
	{ "POST", "/sandboxes", CONTROL, .handler = post_sandboxes },
	{ "GET", "/v2/sandboxes", CONTROL, .handler = get_sandboxes },
	{ "GET", "/sandboxes", CONTROL, .handler = get_sandboxes },
	{ "GET", "/sandboxes/metrics", CONTROL,
	  .handler = get_all_metrics, .quick = true },
	{ "GET", "/sandboxes/{}", CONTROL, .handler = get_sandbox,
	  .guard = control_guard },
	{ "DELETE", "/sandboxes/{}", CONTROL, .handler = delete_sandbox,
	  .guard = control_guard },
	{ "POST", "/sandboxes/{}/timeout", CONTROL, .handler = post_timeout,
	  .guard = control_guard },
	{ "POST", "/v2/sandboxes/{}/connect", CONTROL, .handler = post_connect,
	  .guard = control_guard },
	{ "POST", "/sandboxes/{}/connect", CONTROL, .handler = post_connect,
	  .guard = control_guard },
	{ "POST", "/sandboxes/{}/resume", CONTROL, .handler = post_connect,
	  .guard = control_guard },
	{ "POST", "/sandboxes/{}/refreshes", CONTROL, .handler = post_refreshes,
	  .guard = control_guard },
	{ "GET", "/sandboxes/{}/metrics", CONTROL,
	  .handler = get_sandbox_metrics, .guard = control_guard },
	{ "POST", "/sandboxes/{}/pause", CONTROL, .handler = post_pause,
	  .guard = control_guard },

	{ "PUT", "/sandboxes/{}/network", CONTROL, .handler = put_network,
	  .guard = control_guard },

	/* code */
	{ "GET", "/health", SERVICE_CODE, .handler = get_code_health, CODE,
	  .light = true },
	{ "POST", "/execute", SERVICE_CODE, .handler = post_execute, CODE },
	{ "GET", "/contexts", SERVICE_CODE, .handler = get_contexts, CODE },
	{ "POST", "/contexts", SERVICE_CODE, .handler = post_contexts, CODE },
	{ "POST", "/contexts/{}/restart", SERVICE_CODE,
	  .handler = restart_context, CODE },
	{ "DELETE", "/contexts/{}", SERVICE_CODE, .handler = delete_context,
	  CODE },

	/* files and processes of a sandbox */
	{ "GET", "/health", SERVICE_ENVD, .handler = get_envd_health,
	  .guard = sandbox_guard, .light = true },
	{ "GET", "/envs", SERVICE_ENVD, .handler = get_envs,
	  .guard = envd_guard, .light = true },
	{ "GET", "/metrics", SERVICE_ENVD, .handler = get_envd_metrics,
	  .guard = envd_guard },
	{ "GET", "/files", SERVICE_ENVD, .handler = get_files,
	  .guard = envd_files_guard },
	{ "POST", "/files", SERVICE_ENVD, .handler = post_files,
	  .guard = envd_files_guard, .chunk = post_files_chunk },
	{ "POST", FILESYSTEM "Stat", CALL, .handler = fs_stat },
	{ "POST", FILESYSTEM "Move", CALL, .handler = fs_move },
	{ "POST", FILESYSTEM "MakeDir", CALL, .handler = fs_make_dir },
	{ "POST", FILESYSTEM "Remove", CALL, .handler = fs_remove },
	{ "POST", FILESYSTEM "ListDir", CALL, .handler = fs_list_dir },
	{ "POST", FILESYSTEM "WatchDir", STREAM, .handler = watch_dir },
	{ "POST", FILESYSTEM "CreateWatcher", CALL, .handler = watch_create },
	{ "POST", FILESYSTEM "GetWatcherEvents", CALL,
	  .handler = watch_events },
	{ "POST", FILESYSTEM "RemoveWatcher", CALL, .handler = watch_remove },
	{ "POST", PROCESS "Start", STREAM, .handler = process_start },
	{ "POST", PROCESS "Connect", STREAM, .handler = process_connect },
	{ "POST", PROCESS "List", CALL, .handler = process_list },
	{ "POST", PROCESS "SendSignal", CALL, .handler = process_signal },
	{ "POST", PROCESS "SendInput", CALL, .handler = process_input },
	{ "POST", PROCESS "StreamInput", STREAM,
	  .handler = process_stream_input },
	{ "POST", PROCESS "CloseStdin", CALL,
	  .handler = process_close_stdin },
	{ "POST", PROCESS "Update", CALL, .handler = process_update },

	/* programs of a sandbox */
	{ "*", "/", SERVICE_PORT, .guard = port_guard, .tunnel = tunnel_begin },

	/* features that fsd does not have; a missing sandbox still gives 404 */
	{ "GET", "/sandboxes/{}/logs", CONTROL,
	  .handler = not_there, .guard = control_guard, .topic = NO("sandbox logs") },
	{ "POST", "/sandboxes/{}/fork", CONTROL,
	  .handler = not_there, .guard = control_guard, .topic = NO("forks") },
	{ "POST", "/sandboxes/{}/snapshots", CONTROL,
	  .handler = not_there, .guard = control_guard, .topic = NO("snapshots") },
	{ "GET", "/snapshots", CONTROL,
	  .handler = not_there, .quick = true, .topic = NO("snapshots") },
	{ "*", "/volumes", CONTROL, .handler = not_there,
	  .quick = true, .topic = NO("volumes") },
	{ "*", "/secrets", CONTROL, .handler = not_there,
	  .quick = true, .topic = NO("secrets") },
	{ "*", "/templates", CONTROL,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
	{ "*", "/v2/templates", CONTROL,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
	{ "*", "/v3/templates", CONTROL,
	  .handler = not_there, .quick = true,
	  .topic = NO("templates and builds") },
	{ .path = NULL },
};
