// Tools in Go by the process contract: `greeter --schema [--config FILE]`, or `greeter ARGUMENTS.json`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Call is the arguments file.
type Call struct {
	ToolName      string                    `json:"tool_name"`
	Args          json.RawMessage           `json:"args"`
	ToolConfig    map[string]interface{}    `json:"tool_config"`
	ArtifactPaths map[string]string         `json:"artifact_paths"`
	Metadata      map[string]map[string]any `json:"artifact_metadata"`
	StatusPipe    string                    `json:"status_pipe"`
	ResultFile    string                    `json:"result_file"`
	OutputDir     string                    `json:"output_dir"`
	IPCSocket     string                    `json:"ipc_socket"`
	UserID        string                    `json:"user_id"`
	Token         string                    `json:"tool_oauth_token"`
	AuthHeaders   map[string]string         `json:"tool_auth_headers"`
	context       context.Context
	status        *os.File
}

// Status sends a line of progress.
func (call *Call) Status(text string) {
	if call.status == nil && call.StatusPipe != "" {
		call.status, _ = os.OpenFile(call.StatusPipe, os.O_WRONLY, 0)
	}
	if call.status != nil {
		line, _ := json.Marshal(map[string]string{"status": text})
		call.status.Write(append(line, '\n'))
	}
}

// Tool is what --schema says of a tool, and what it does.
type Tool struct {
	schema string
	run    func(call *Call) (any, error)
}

func ok(message string, data any) any {
	result := map[string]any{"_schema": "ToolResult", "_schema_version": "1.0", "status": "success", "message": message}
	result["error_code"] = nil
	if data != nil {
		result["data"] = data
	}
	return result
}

func main() {
	fmt.Fprintln(os.Stderr, "greeter: warning: omitempty on a scalar")
	file, configFile, schemaMode := "", "", false
	for index := 1; index < len(os.Args); index++ {
		switch argument := os.Args[index]; {
		case argument == "--schema":
			schemaMode = true
		case argument == "--config" && index+1 < len(os.Args):
			index++
			configFile = os.Args[index]
		case file == "":
			file = argument
		}
	}
	if schemaMode {
		printSchema(configFile)
		return
	}
	content, err := os.ReadFile(file)
	call := &Call{}
	if err == nil {
		err = json.Unmarshal(content, call)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "greeter:", err)
		os.Exit(1)
	}
	var stop context.CancelFunc
	call.context, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	envelope := map[string]any{"result": nil, "error": ""}
	if result, err := perform(call); err != nil {
		envelope["error"] = strings.ReplaceAll(err.Error(), "\n", " | ")
	} else {
		envelope["result"] = result
	}
	data, _ := json.Marshal(envelope)
	if os.WriteFile(call.ResultFile, data, 0o600) != nil {
		os.Exit(1)
	}
}

func perform(call *Call) (result any, err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("panic: %v\nmain.run\n\t/builder/home/greeter/main.go:7", trouble)
		}
	}()
	tool, found := tools[call.ToolName]
	if !found {
		return nil, fmt.Errorf("tool %q not found in binary", call.ToolName)
	}
	if err := os.MkdirAll(call.OutputDir, 0o755); err != nil {
		return nil, err
	}
	return tool.run(call)
}

func printSchema(configFile string) {
	described := map[string]any{}
	for name, tool := range tools {
		var document map[string]any
		if err := json.Unmarshal([]byte(tool.schema), &document); err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		described[name] = document
	}
	if configFile != "" {
		config := map[string]any{}
		if content, err := os.ReadFile(configFile); err == nil {
			json.Unmarshal(content, &config)
		}
		if title, given := config["title"].(string); given {
			described["greet"].(map[string]any)["description"] = "Greet a " + title + "."
		}
	}
	data, _ := json.MarshalIndent(map[string]any{"tools": described}, "", "  ")
	os.Stdout.Write(append(data, '\n'))
}

func loadArtifact(call *Call, key string) (string, string, error) {
	path, given := call.ArtifactPaths[key]
	if !given {
		return "", "", fmt.Errorf("loading artifacts: required artifact %q not provided", key)
	}
	content, err := os.ReadFile(path)
	name, _ := call.Metadata[key]["filename"].(string)
	return string(content), name, err
}

func store(call *Call, name string, content []byte) (any, error) {
	err := os.WriteFile(filepath.Join(call.OutputDir, filepath.Base(name)), content, 0o600)
	return map[string]any{
		"name": name, "content": nil, "is_binary": false, "mime_type": "text/x-greeting",
		"disposition": "artifact", "description": "a card", "preview": nil, "metadata": map[string]any{"lines": 1},
	}, err
}
