/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns a file's type by its extension, for the types that people and
 * notebooks display. Pure.
 */
#include "result.h"

#include <string.h>
#include <strings.h>

#include "layout/base/num.h"

static const struct {
	const char *ending, *mime;
} types[] = {
	{ "7z", "application/x-7z-compressed" },
	{ "avi", "video/x-msvideo" },
	{ "bmp", "image/bmp" },
	{ "bz2", "application/x-bzip2" },
	{ "c", "text/x-c" },
	{ "cjs", "text/javascript" },
	{ "css", "text/css" },
	{ "csv", "text/csv" },
	{ "db", "application/vnd.sqlite3" },
	{ "docx", "application/vnd.openxmlformats-officedocument."
		  "wordprocessingml.document" },
	{ "flac", "audio/flac" },
	{ "geojson", "application/geo+json" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html" },
	{ "html", "text/html" },
	{ "ico", "image/vnd.microsoft.icon" },
	{ "ini", "text/plain" },
	{ "ipynb", "application/x-ipynb+json" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "js", "text/javascript" },
	{ "json", "application/json" },
	{ "jsonl", "application/jsonl" },
	{ "log", "text/plain" },
	{ "md", "text/markdown" },
	{ "mjs", "text/javascript" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "mts", "text/x-typescript" },
	{ "ndjson", "application/x-ndjson" },
	{ "ods", "application/vnd.oasis.opendocument.spreadsheet" },
	{ "odt", "application/vnd.oasis.opendocument.text" },
	{ "ogg", "audio/ogg" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "pptx", "application/vnd.openxmlformats-officedocument."
		  "presentationml.presentation" },
	{ "ps", "application/postscript" },
	{ "py", "text/x-python" },
	{ "rtf", "application/rtf" },
	{ "sh", "text/x-shellscript" },
	{ "sqlite", "application/vnd.sqlite3" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "tex", "text/x-tex" },
	{ "tgz", "application/gzip" },
	{ "tif", "image/tiff" },
	{ "tiff", "image/tiff" },
	{ "toml", "application/toml" },
	{ "ts", "text/x-typescript" },
	{ "tsv", "text/tab-separated-values" },
	{ "txt", "text/plain" },
	{ "wasm", "application/wasm" },
	{ "wav", "audio/wav" },
	{ "webm", "video/webm" },
	{ "webp", "image/webp" },
	{ "xhtml", "application/xhtml+xml" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument."
		  "spreadsheetml.sheet" },
	{ "xml", "application/xml" },
	{ "xz", "application/x-xz" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "zip", "application/zip" },
	{ "zst", "application/zstd" },
};

const char *mime_by_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (dot && dot != name)
		for (size_t i = 0; i < ARRAY_SIZE(types); i++)
			if (!strcasecmp(types[i].ending, dot + 1))
				return types[i].mime;
	return "application/octet-stream";
}
