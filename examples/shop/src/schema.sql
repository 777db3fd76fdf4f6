create table users (
    id       integer primary key,
    name     text not null unique,
    password text not null  -- in the clear: these people do not exist
);

create table sessions (
    token   text primary key,
    user_id integer not null references users (id)
) without rowid;

create table products (
    id          integer primary key,
    name        text not null,
    price_cents integer not null check (price_cents > 0),
    stock       integer not null check (stock >= 0)
);

create table orders (
    id          integer primary key,
    user_id     integer not null references users (id),
    product_id  integer not null references products (id),
    quantity    integer not null check (quantity > 0),
    total_cents integer not null,
    placed_at   real not null default (unixepoch('subsec'))  -- in seconds
);

-- Packing an order takes a moment. Nobody has to do it: an order is packed as soon as it is old enough.
create view orders_now as
    select *, case when unixepoch('subsec') - placed_at < 0.1 then 'placed' else 'packed' end as status
    from orders;

create index orders_of_user on orders (user_id, id);

insert into users (name, password) values
    ('ada', 'lovelace'),
    ('grace', 'hopper'),
    ('edsger', 'dijkstra'),
    ('barbara', 'liskov');

insert into products (name, price_cents, stock) values
    ('Teapot', 2490, 1000000),
    ('Tea cup', 690, 1000000),
    ('Saucer', 390, 1000000),
    ('Tea strainer', 450, 1000000),
    ('Tea caddy', 1290, 1000000),
    ('Tea towel', 590, 1000000),
    ('Sugar bowl', 890, 1000000),
    ('Milk jug', 990, 1000000),
    ('Cake stand', 3490, 1000000),
    ('Cake fork', 290, 1000000),
    ('Kettle', 4990, 1000000),
    ('Egg timer', 790, 1000000),
    ('Honey dipper', 350, 1000000),
    ('Darjeeling, 100 g', 1150, 1000000),
    ('Assam, 100 g', 850, 1000000),
    ('Ceylon, 100 g', 820, 1000000),
    ('Keemun, 100 g', 1080, 1000000),
    ('Lapsang Souchong, 100 g', 980, 1000000),
    ('Sencha, 100 g', 1240, 1000000),
    ('Gyokuro, 50 g', 1890, 1000000),
    ('Matcha, 30 g', 2190, 1000000),
    ('Oolong, 100 g', 1390, 1000000),
    ('White peony, 50 g', 1190, 1000000),
    ('The last tea of 1893', 189300, 1);
