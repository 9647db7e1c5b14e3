/* A WebSocket server that only shakes hands: the opening handshake, then the close frame's answer.

   One thread and epoll: a server that costs so little that the client is what is measured. What is
   no proper handshake is hung up on.

   Usage: websocket_server PORT [awake], on 127.0.0.1. "awake" asks for events without ever
   sleeping, as a server has to that is busy; a client then pays for no wake-ups. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_CAP = 2048, KEY_BYTES = 24, ACCEPT_BYTES = 28, FD_CAP = 1 << 16, EVENTS = 512 };
enum { CONTROL_CAP = 125, CLIENT_HEAD = 6 };

static const char GUID[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
static const char BEFORE_ACCEPT[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: ";

/* What has come of a connection's request, or after it of its close frame. */
typedef struct {
    uint16_t size;
    uint8_t is_open;
    char bytes[HEAD_CAP];
} Connection;

static Connection *connections[FD_CAP];
static int epoll;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint32_t rotated(uint32_t word, int by) { return word << by | word >> (32 - by); }

static void sha1_block(uint32_t state[5], const uint8_t block[64]) {
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++) {
        memcpy(&w[i], block + 4 * i, 4);
        w[i] = ntohl(w[i]);
    }
    for (int i = 16; i < 80; i++) w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999
                         : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1
                         : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC
                                  : (b ^ c ^ d) + 0xCA62C1D6;
        uint32_t next = rotated(a, 5) + mixed + e + w[i];
        e = d, d = c, c = rotated(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/* Key and GUID are 60 bytes, and with the padding two blocks. */
static void sha1_of_key(const char *key, uint8_t digest[20]) {
    enum { SIZE = KEY_BYTES + sizeof GUID - 1 };
    uint8_t blocks[128] = {0};
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    memcpy(blocks, key, KEY_BYTES);
    memcpy(blocks + KEY_BYTES, GUID, sizeof GUID - 1);
    blocks[SIZE] = 0x80;
    blocks[126] = SIZE * 8 >> 8, blocks[127] = SIZE * 8 & 0xFF;
    sha1_block(state, blocks);
    sha1_block(state, blocks + 64);
    for (int i = 0; i < 5; i++) {
        uint32_t word = htonl(state[i]);
        memcpy(digest + 4 * i, &word, 4);
    }
}

static void base64_of_digest(const uint8_t digest[20], char *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t padded[21] = {0};
    memcpy(padded, digest, 20);
    for (int i = 0; i < 21; i += 3, out += 4) {
        uint32_t three = padded[i] << 16 | padded[i + 1] << 8 | padded[i + 2];
        for (int j = 0; j < 4; j++) out[j] = letters[three >> (18 - 6 * j) & 63];
    }
    out[-1] = '=';
}

static void hang_up(int fd) {
    connections[fd]->size = connections[fd]->is_open = 0;
    close(fd);
}

/* Answer the opening handshake; whether it was one. */
static int open_socket(int fd, Connection *connection) {
    static const char name[] = "\r\nSec-WebSocket-Key:";
    char reply[sizeof BEFORE_ACCEPT - 1 + ACCEPT_BYTES + 4], *at = reply + sizeof BEFORE_ACCEPT - 1;
    uint8_t digest[20];
    const char *key = strcasestr(connection->bytes, name);
    if (strncmp(connection->bytes, "GET ", 4) || !key) return 0;
    key += sizeof name - 1;
    key += strspn(key, " ");
    if (strcspn(key, "\r ") != KEY_BYTES) return 0;
    sha1_of_key(key, digest);
    memcpy(reply, BEFORE_ACCEPT, sizeof BEFORE_ACCEPT - 1);
    base64_of_digest(digest, at);
    memcpy(at + ACCEPT_BYTES, "\r\n\r\n", 4);
    connection->is_open = 1;
    return send(fd, reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply;
}

/* Answer a close frame that is whole with its own payload, unmasked; then comes the end. */
static void answer_close(int fd, const Connection *connection) {
    const uint8_t *frame = (const uint8_t *)connection->bytes, *mask = frame + 2;
    uint8_t reply[2 + CONTROL_CAP], size = frame[1] & 0x7F;
    reply[0] = frame[0], reply[1] = size;
    for (int i = 0; i < size; i++) reply[2 + i] = frame[CLIENT_HEAD + i] ^ mask[i & 3];
    send(fd, reply, 2 + size, MSG_NOSIGNAL);
}

/* Whether the connection goes on after what has come. */
static int take(int fd, Connection *connection) {
    uint8_t *frame = (uint8_t *)connection->bytes;
    connection->bytes[connection->size] = 0;
    if (!connection->is_open) {
        char *end = strstr(connection->bytes, "\r\n\r\n");
        if (!end) return 1;
        uint16_t used = end + 4 - connection->bytes;
        if (!open_socket(fd, connection)) return 0;
        connection->size -= used;
        memmove(connection->bytes, connection->bytes + used, connection->size);
    }
    if (connection->size < 2) return 1;
    if (frame[0] != 0x88 || frame[1] < 0x80 || frame[1] > 0x80 + CONTROL_CAP) return 0;
    if (connection->size < CLIENT_HEAD + (frame[1] & 0x7F)) return 1;
    answer_close(fd, connection);
    return 0;
}

static void read_from(int fd) {
    Connection *connection = connections[fd];
    ssize_t got = recv(fd, connection->bytes + connection->size, HEAD_CAP - 1 - connection->size, 0);
    if (got < 0 && errno == EAGAIN) return;
    connection->size += got > 0 ? got : 0;
    if (got <= 0 || !take(fd, connection)) hang_up(fd);
}

static void accept_all(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd >= FD_CAP || (!connections[fd] && !(connections[fd] = calloc(1, sizeof(Connection)))))
            fail("too many connections");
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
    }
}

static int listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        fail("listen");
    return listener;
}

int main(int argc, char **argv) {
    if (argc < 2) return fputs("usage: websocket_server PORT [awake]\n", stderr), 2;
    int wait_ms = argc > 2 && !strcmp(argv[2], "awake") ? 0 : -1;
    int listener = listen_on(atoi(argv[1]));
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.fd = listener};
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, wait_ms);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener) accept_all(listener);
            else read_from(events[i].data.fd);
        }
    }
}
