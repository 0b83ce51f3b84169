package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

var tools = map[string]Tool{
	"greet": {`{"description": "Greet a person.\n\nArgs:\n    name: Whom.", "parameters": {"type": "object",
		"properties": {"name": {"type": "string", "description": "Whom."}, "times": {"type": "integer"},
			"loud": {"type": "boolean"}}, "required": ["name"]}}`, greet},
	"quote": {`{"description": "Quote files.", "parameters": {"type": "object", "required": ["doc"],
		"properties": {"doc": {"type": "object"}, "more": {"type": "object"}}},
		"artifact_params": {"doc": {"is_list": false, "is_optional": false},
			"more": {"is_list": true, "is_optional": true}}}`, quote},
	"card":    {`{"description": "Make a card.", "parameters": {"type": "object"}}`, card},
	"fail":    {`{"description": "Fail.", "parameters": {"type": "object"}}`, fail},
	"break":   {`{"description": "Panic.", "parameters": {"type": "object"}}`, panics},
	"flood":   {`{"description": "Send 5,000 statuses.", "parameters": {"type": "object"}}`, flood},
	"nothing": {`{"description": "Return nothing.", "parameters": {"type": "object"}}`, nothing},
	"wait":    {`{"description": "Wait until told to stop.", "parameters": {"type": "object"}, "timeout_seconds": 3}`, wait},
	"stay":    {`{"description": "Wait until told to stop.", "parameters": {"type": "object"}}`, wait},
	"deaf":    {`{"description": "Do not stop.", "parameters": {"type": "object"}, "timeout_seconds": 1}`, deaf},
	"headers": {`{"description": "Show the headers.", "parameters": {"type": "object"}}`, headers},
	"ask": {`{"description": "Ask the model.", "parameters": {"type": "object",
		"properties": {"question": {"type": "string"}}, "required": ["question"]}}`, ask},
}

func greet(call *Call) (any, error) {
	args := struct {
		Name  string `json:"name"`
		Times int    `json:"times,omitempty"`
		Loud  bool   `json:"loud,omitempty"`
	}{}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	call.Status("greeting " + args.Name)
	text := "Hello, " + args.Name
	if args.Loud {
		text = strings.ToUpper(text)
	}
	return ok(text, map[string]any{"times": args.Times + 1, "user": call.UserID}), nil
}

func quote(call *Call) (any, error) {
	text, name, err := loadArtifact(call, "doc")
	if err != nil {
		return nil, err
	}
	for index := 0; ; index++ {
		more, another, err := loadArtifact(call, fmt.Sprintf("more[%d]", index))
		if err != nil {
			return ok(text, map[string]any{"name": name}), nil
		}
		text, name = text+"+"+more, name+"+"+another
	}
}

func card(call *Call) (any, error) {
	object, err := store(call, "card.txt", []byte("Dear Ada"))
	result := ok("made a card", nil).(map[string]any)
	result["data_objects"] = []any{object}
	return result, err
}

func fail(call *Call) (any, error) {
	return nil, errors.New("the first line\nand the second")
}

func panics(call *Call) (any, error) {
	var nobody map[string]string
	nobody["x"] = "y"
	return nil, nil
}

func nothing(call *Call) (any, error) {
	return nil, nil
}

func flood(call *Call) (any, error) {
	for number := 0; number < 5000; number++ {
		call.Status(fmt.Sprintf("status %d of a flood that is larger than any pipe: %s", number, strings.Repeat("x", 400)))
	}
	return ok("sent", nil), nil
}

func wait(call *Call) (any, error) {
	call.Status("waiting")
	<-call.context.Done()
	_, err := store(call, "stopped.txt", []byte("put away"))
	call.Status("put away")
	return ok("stopped when told", nil), err
}

func deaf(call *Call) (any, error) {
	for {
		time.Sleep(time.Second)
	}
}

func headers(call *Call) (any, error) {
	return ok("", map[string]any{"headers": call.AuthHeaders, "length": len(call.AuthHeaders["Authorization"]),
		"has_token": call.Token != ""}), nil
}

func ask(call *Call) (any, error) {
	args := struct {
		Question string `json:"question"`
	}{}
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, err
	}
	connection, err := net.Dial("unix", call.IPCSocket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	request := map[string]any{"jsonrpc": "2.0", "id": "1", "method": "llm/call", "params": map[string]any{
		"system_prompt": "be short", "user_prompt": args.Question, "temperature": 0.7}}
	data, _ := json.Marshal(request)
	connection.Write(append(data, '\n'))
	line, err := bufio.NewReader(connection).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	reply := struct {
		Result struct{ Text string } `json:"result"`
		Error  *struct {
			Code    int
			Message string
		} `json:"error"`
	}{}
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, fmt.Errorf("IPC error %d: %s", reply.Error.Code, reply.Error.Message)
	}
	return ok(reply.Result.Text, nil), nil
}
