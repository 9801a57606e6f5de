// SPDX-License-Identifier: Apache-2.0
/*
 * A node of Flowise: a code interpreter on this host's fsd.
 *
 * Flowise's own E2B node works with fsd gateway --debug-ports, and that is the first
 * thing to try. This file needs no gateway: put it and fsd.svg into
 * packages/components/dist/nodes/tools/CodeInterpreterFsd/ and install
 * fsd-sandbox beside flowise-components.
 */
"use strict";

const { createHash } = require("node:crypto");

const { parseCallbackConfigArg } = require("@langchain/core/callbacks/manager");
const { StructuredTool } = require("@langchain/core/tools");
const { z } = require("zod");

const { ARTIFACTS_PREFIX } = require("../../../src/agents");
const { addSingleFileToStorage } = require("../../../src/storageUtils");
const { getBaseClasses } = require("../../../src/utils");

const LANGUAGES = ["python", "javascript", "typescript", "bash"];
const NAME = "code_interpreter";
const DESCRIPTION = "Runs a program in an isolated machine that lives on " +
  "between calls, so variables and files stay. Returns the value of the last " +
  "expression, or what was printed. Figures of plt.show() are shown.";
const IMAGES = { "image/png": ["png", "png"], "image/jpeg": ["jpeg", "jpg"] };
const TEXTS = { "text/html": "html", "text/markdown": "markdown",
  "text/latex": "latex", "application/json": "json",
  "application/javascript": "javascript" };

class FsdTool extends StructuredTool {
  static lc_name() {
    return "FsdTool";
  }

  constructor(options) {
    super();
    Object.assign(this, options);
    this.schema = z.object({
      input: z.string().describe(`${this.language} code to be executed`),
    });
    this.flowObj = {};
  }

  setFlowObject(flowObj) {
    this.flowObj = flowObj;
  }

  /** Agents tell a call's chat as a fourth argument, others by setFlowObject(). */
  call(arg, configArg, tags, flow) {
    const config = parseCallbackConfigArg(configArg);
    return super.call(arg, { runName: this.name, ...config, flow }, tags);
  }

  /** One sandbox for each chat. It ends when it was idle for a while. */
  async sandbox(chatId) {
    const { Mount } = await import("fsd-sandbox");
    const chat = [this.orgId, this.chatflowid, chatId].join("\0");
    const name = "flowise-" + createHash("sha256").update(chat).digest("hex")
      .slice(0, 24);
    const mount = new Mount(this.mount || undefined);
    const keys = { environment: this.environment, network: this.network };
    const box = await mount.sandbox(name, keys);
    if (await box.state() !== "lost") return box;
    await box.close();
    return mount.sandbox(name, keys);
  }

  async artifacts(displays, chatId) {
    const found = [];
    for (const { mime, data } of displays) {
      if (mime in IMAGES) {
        const [type, suffix] = IMAGES[mime];
        const { path } = await addSingleFileToStorage(mime, data,
          `artifact_${Date.now()}_${found.length}.${suffix}`, this.orgId,
          this.chatflowid, chatId);
        found.push({ type, data: path });
      } else if (mime in TEXTS) {
        found.push({ type: TEXTS[mime],
          data: mime === "application/json" ? JSON.parse(data) : data });
      }
    }
    return found;
  }

  async _call({ input }, _, config) {
    const { chatId } = { ...this.flowObj, ...config?.flow };
    try {
      const box = await this.sandbox(chatId);
      const result = await box.cell(input, { language: this.language,
        timeout: this.timeout });
      if (result.error) return `${result.error.name}: ${result.error.value}`;
      if (!result.ok)
        return result.message || `${result.status}, exit code ${result.exitCode}`;
      const artifacts = await this.artifacts(result.displays, chatId);
      const output = result.text ?? result.stdout;
      return artifacts.length ? output + ARTIFACTS_PREFIX +
        JSON.stringify(artifacts) : output;
    } catch (error) {
      return `The sandbox could not run it: ${error.message}`;
    }
  }
}

class CodeInterpreterFsd {
  constructor() {
    this.label = "Code Interpreter by fsd";
    this.name = "codeInterpreterFsd";
    this.version = 1.0;
    this.type = "CodeInterpreter";
    this.icon = "fsd.svg";
    this.category = "Tools";
    this.description = "Runs code in a microVM on this host";
    this.baseClasses = [this.type, "Tool", ...getBaseClasses(FsdTool)];
    this.inputs = [
      { label: "Tool Name", name: "toolName", type: "string", default: NAME },
      { label: "Tool Description", name: "toolDesc", type: "string", rows: 4,
        default: DESCRIPTION },
      { label: "Language", name: "language", type: "options", default: "python",
        options: LANGUAGES.map((name) => ({ label: name, name })) },
      { label: "Timeout", name: "timeout", type: "number", default: 30,
        description: "Seconds of one call", additionalParams: true },
      { label: "Environment", name: "environment", type: "string",
        optional: true, additionalParams: true,
        description: "Packages that the machine has: a name of `fsd env list`" },
      { label: "Network", name: "network", type: "string", optional: true,
        additionalParams: true, description: "Servers that the code reaches, " +
          "with spaces between them, such as api.example.org; otherwise none" },
      { label: "Mount", name: "mount", type: "string", optional: true,
        additionalParams: true,
        description: "The mount of fsd; otherwise $FSD_MOUNT or the service's" },
    ];
  }

  async init(nodeData, _, options) {
    const inputs = nodeData.inputs ?? {};
    return new FsdTool({
      name: inputs.toolName || NAME,
      description: inputs.toolDesc || DESCRIPTION,
      language: LANGUAGES.includes(inputs.language) ? inputs.language : "python",
      timeout: Number(inputs.timeout) || 30,
      environment: inputs.environment || undefined,
      network: inputs.network?.trim() ? inputs.network.trim().split(/\s+/)
        : undefined,
      mount: inputs.mount,
      chatflowid: options.chatflowid,
      orgId: options.orgId,
    });
  }
}

module.exports = { nodeClass: CodeInterpreterFsd };
