// Contends for a lock with redsync, with its own settings.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type task struct {
	Masters []struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	} `json:"masters"`
	Resource string `json:"resource"`
	TTL      int    `json:"ttl"`
	Duration int    `json:"duration"`
	Folder   string `json:"folder"`
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Whether nobody else was inside. Updates the count as plainly as can be: only a lock keeps it from losing some.
func enterAndLeave(folder string) bool {
	marker := filepath.Join(folder, "inside")
	count := filepath.Join(folder, "count")
	file, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return false
	}
	must(file, err).Close()
	before := must(strconv.Atoi(string(must(os.ReadFile(count)))))
	time.Sleep(2 * time.Millisecond)
	must(0, os.WriteFile(count, []byte(strconv.Itoa(before+1)), 0o600))
	must(0, os.Remove(marker))
	return true
}

func main() {
	var task task
	must(0, json.Unmarshal([]byte(os.Args[1]), &task))
	pools := []redsyncredis.Pool{}
	for _, master := range task.Masters {
		client := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("%s:%d", master.Host, master.Port)})
		must(client.Ping(context.Background()).Result())
		pools = append(pools, goredis.NewPool(client))
	}
	manager := redsync.New(pools...)
	fmt.Println("ready")
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
	grants, overlaps := 0, 0
	end := time.Now().Add(time.Duration(task.Duration) * time.Millisecond)
	for time.Now().Before(end) {
		mutex := manager.NewMutex(task.Resource, redsync.WithExpiry(time.Duration(task.TTL)*time.Millisecond))
		if mutex.Lock() == nil {
			grants++
			if !enterAndLeave(task.Folder) {
				overlaps++
			}
			mutex.Unlock()
		}
		time.Sleep(time.Duration(1+rand.Intn(19)) * time.Millisecond)
	}
	fmt.Printf("{\"grants\": %d, \"overlaps\": %d}\n", grants, overlaps)
}
