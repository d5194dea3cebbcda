//go:build ignore

// The application under test: an HTTP endpoint that answers questions about orders.
// Run it with `go run server.go 127.0.0.1:8080`.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
)

var orders = map[string]string{"A17": "shipped", "B42": "delayed"}

func main() {
	http.HandleFunc("POST /chat", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Question, Session string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id := regexp.MustCompile(`[A-Z][0-9]+`).FindString(in.Question)
		text, steps := "Which order do you mean?", []any{}
		if id != "" {
			steps = append(steps, map[string]any{"name": "get_order", "args": map[string]string{"id": id}})
			text = "I know no order " + id + "."
			if status, known := orders[id]; known {
				text = "Order " + id + " is " + status + "."
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"reply": map[string]string{"text": text}, "steps": steps})
	})
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	log.Fatal(http.Serve(listener, nil))
}
