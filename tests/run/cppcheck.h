/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jansson's loops for cppcheck, which has no header of it. Not as options: it
 * ends a macro of an option at a semicolon.
 */
#define json_object_foreach(o, k, v) for (; (k = json_key(o, &v));)
#define json_array_foreach(a, i, v) for (i = 0; (v = json_array_get(a, i)); i++)
