/* WebSocket handshakes by the injector's own system calls and nothing else: what the kernel takes
   of them on this machine today, beside which the injector's cost can be read.

   Usage: websocket_client PORT SECONDS IN_FLIGHT, on 127.0.0.1. Prints a line of JSON: how many
   were opened and closed, and what they cost, user and system CPU time, in µs. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FD_CAP = 1 << 16, EVENTS = 64, READ_BYTES = 16 * 1024, INFO_BYTES = 208 };

static const char OPENING_REQUEST[] =
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: benchsite\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/* Code 1000, masked with 1, 2, 3, 4. */
static const unsigned char CLOSE_FRAME[] = {0x88, 0x82, 1, 2, 3, 4, 0x03 ^ 1, 0xE8 ^ 2};

static struct sockaddr_in server;
static enum { CONNECTING, OPENING, CLOSING } phase[FD_CAP];
static int epoll, in_flight;
static long n_done;

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void watch(int fd, int how, int events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll, how, fd, &event)) fail("epoll_ctl");
}

/* Whether the connection was there to take it. */
static int ask(int fd) {
    ssize_t size = send(fd, OPENING_REQUEST, sizeof OPENING_REQUEST - 1, MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) fail("send");
    phase[fd] = size < 0 ? CONNECTING : OPENING;
    return size >= 0;
}

static void dial(void) {
    struct sockaddr *address = (struct sockaddr *)&server;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || fd >= FD_CAP) fail("socket");
    if (connect(fd, address, sizeof server) && errno != EINPROGRESS) fail("connect");
    in_flight++;
    /* If the server's queue was full, the kernel asks again after a while. */
    watch(fd, EPOLL_CTL_ADD, ask(fd) ? EPOLLIN : EPOLLOUT);
}

static void hang_up(int fd) {
    char info[INFO_BYTES];
    socklen_t size = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size);
    close(fd);
    in_flight--;
    n_done++;
}

/* What has come is not looked at: the server is our own. Whether the connection has ended. */
static int go_on(int fd) {
    static char bytes[READ_BYTES];
    if (phase[fd] == CONNECTING) {
        if (ask(fd)) watch(fd, EPOLL_CTL_MOD, EPOLLIN);
        return 0;
    }
    ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size > 0 && phase[fd] == OPENING) {
        phase[fd] = CLOSING;
        send(fd, CLOSE_FRAME, sizeof CLOSE_FRAME, MSG_NOSIGNAL);
        return 0;
    }
    /* The close frame; its end has mostly come with it. */
    if (size > 0) size = recv(fd, bytes, sizeof bytes, 0);
    return size == 0 || (size < 0 && errno != EAGAIN);
}

static void report(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double cpu_us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec +
                    used.ru_stime.tv_usec;
    printf("{\"handshakes\": %ld, \"cpu_us\": %.2f}\n", n_done, cpu_us / n_done);
}

int main(int argc, char **argv) {
    if (argc < 4) return fputs("usage: websocket_client PORT SECONDS IN_FLIGHT\n", stderr), 2;
    double end_s = now_s() + atof(argv[2]);
    int wanted = atoi(argv[3]);
    struct epoll_event events[EVENTS];
    server.sin_family = AF_INET;
    server.sin_port = htons(atoi(argv[1]));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    epoll = epoll_create1(0);
    while (in_flight < wanted) dial();
    while (in_flight) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (!go_on(events[i].data.fd)) continue;
            hang_up(events[i].data.fd);
            if (now_s() < end_s) dial();
        }
    }
    return report(), 0;
}
